#!/bin/sh
# Brings a package that tests or the bench need, on Debian, Ubuntu and their like: chromium, the browser that tests drive,
# postfix, a mail server that they send to (it is not set up: the test does so), pgbouncer, a pooler before PostgreSQL,
# spamassassin, which scores e-mails, or wrk, which makes the bench's load.
set -eu
fail() { echo "$1" >&2; exit 1; }

package=${1:?which package}
command -v apt-get >/dev/null || fail "There is no apt-get here. Install $package by yourself, so that PATH leads to it."
root=''
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || fail "To install $package takes root or sudo: run \"sudo scripts/install-debian.sh $package\" once."
  root='sudo -n'
fi
# Tests run side by side, and apt-get does not wait for another one.
exec 9>"${TMPDIR:-/tmp}/sluice-install-debian.lock"
flock 9
$root apt-get update -q
if [ "$package" = postfix ]; then
  echo 'postfix postfix/main_mailer_type select No configuration' | $root debconf-set-selections
fi
$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$package"

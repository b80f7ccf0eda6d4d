#!/bin/sh
# Installs a package for tests or the bench on Debian, Ubuntu and derivatives: chromium (browser tests), postfix (a mail
# server, configured by its test), pgbouncer (a pooler in front of PostgreSQL), spamassassin (scores e-mails) or wrk (the
# bench's load generator).
set -eu
fail() { echo "$1" >&2; exit 1; }

package=${1:?which package}
command -v apt-get >/dev/null || fail "apt-get is missing. Install $package yourself, and add it to PATH."
root=''
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || fail "Installing $package requires root or sudo: run \"sudo scripts/install-debian.sh $package\" once."
  root='sudo -n'
fi
# Tests run in parallel, and apt-get does not wait for another instance.
exec 9>"${TMPDIR:-/tmp}/sluice-install-debian.lock"
flock 9
$root apt-get update -q
if [ "$package" = postfix ]; then
  echo 'postfix postfix/main_mailer_type select No configuration' | $root debconf-set-selections
fi
$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$package"

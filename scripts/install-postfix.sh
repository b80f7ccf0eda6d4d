#!/bin/sh
# Brings the Postfix that one test sends e-mails to, on Debian, Ubuntu and their like. It is not set up: the test does so.
set -eu
fail() { echo "$1" >&2; exit 1; }

command -v apt-get >/dev/null || fail 'There is no apt-get here. Install Postfix, so that /usr/sbin/postfix is there.'
root=''
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || fail 'To install Postfix takes root or sudo: run "sudo scripts/install-postfix.sh" once.'
  root='sudo -n'
fi
$root apt-get update -q
echo 'postfix postfix/main_mailer_type select No configuration' | $root debconf-set-selections
$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postfix

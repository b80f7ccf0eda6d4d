#!/bin/sh
# Brings the Chromium that the browser tests drive, on Debian, Ubuntu and their like.
set -eu
fail() { echo "$1" >&2; exit 1; }

command -v apt-get >/dev/null || fail 'There is no apt-get here. Install Chromium or Google Chrome, so that PATH leads to it.'
root=''
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || fail 'To install Chromium takes root or sudo: run "sudo scripts/install-browser.sh" once.'
  root='sudo -n'
fi
$root apt-get update -q
$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium

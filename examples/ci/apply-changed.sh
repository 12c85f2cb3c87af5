#!/bin/sh
# Applies every root module that the last commit of a branch concerns: to be run after the merge.
#
#   apply-changed.sh BASE
#
# BASE is the commit before, such as HEAD~1 after a merge. The variables are those of plan-changed.sh.
set -eu
base=$1

# Not piped into the loop: a pipeline would hide that it failed.
folders=$(stackwright ci changed --base "$base")
if [ -z "$folders" ]; then
  echo "No root module is concerned."
  exit 0
fi
echo "$folders" | while IFS= read -r folder; do
  stack=$(printf %s "$folder" | tr -c 'A-Za-z0-9._-' -)
  if [ "$folder" = . ]; then stack=root; fi
  # The input of the loop is the list: a command that reads it would take the rest away.
  stackwright --chdir "$folder" init </dev/null
  stackwright --chdir "$folder" up --no-input --stack "$stack" --yes --lock-timeout 15m </dev/null
done

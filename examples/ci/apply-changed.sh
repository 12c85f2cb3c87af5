#!/bin/sh
# Applies every root module that the last commit of a branch concerns: to be run after the merge.
#
#   apply-changed.sh BASE
#
# BASE is the commit before, such as HEAD~1 after a merge. The variables are those of plan-changed.sh.
set -eu
base=$1

stackwright ci changed --base "$base" | while IFS= read -r folder; do
  stack=$(echo "$folder" | tr / -)
  stackwright --chdir "$folder" init
  stackwright --chdir "$folder" up --no-input --stack "$stack" --yes --lock-timeout 15m
done

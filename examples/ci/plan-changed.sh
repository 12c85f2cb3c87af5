#!/bin/sh
# Plans every root module that a branch concerns, and writes the plans as Markdown.
#
#   plan-changed.sh BASE SUMMARY_FILE
#
# BASE is where the branch goes to, such as origin/main. STACKWRIGHT_STORE names the store that all jobs share, and STACKWRIGHT_KEY
# (or _FILE, _COMMAND) the key of its secrets. Each root module is the stack of its folder's name: live/web is live-web.
set -eu
base=$1
summary=$2

folders=$(stackwright ci changed --base "$base")
if [ -z "$folders" ]; then
  echo "No root module is concerned." >>"$summary"
  exit 0
fi
echo "$folders" | while IFS= read -r folder; do
  stack=$(echo "$folder" | tr / -)
  stackwright --chdir "$folder" init
  stackwright --chdir "$folder" plan --no-input --stack "$stack" --out branch.plan
  {
    echo "## $folder"
    echo
    stackwright --chdir "$folder" show --stack "$stack" --view markdown branch.plan
  } >>"$summary"
done

#!/bin/sh
# Plans every root module that a branch concerns, and writes the plans as Markdown.
#
#   plan-changed.sh BASE SUMMARY_FILE
#
# BASE is where the branch goes to, such as origin/main. STACKWRIGHT_STORE names the store that all jobs share, and STACKWRIGHT_KEY
# (or _FILE, _COMMAND) the key of its secrets. Each root module is the stack of its folder's name, as with
# adopt --all: live/web is live-web, and the folder of the pipeline itself is root.
set -eu
base=$1
summary=$2

folders=$(stackwright ci changed --base "$base")
if [ -z "$folders" ]; then
  echo "No root module is concerned." >>"$summary"
  exit 0
fi
echo "$folders" | while IFS= read -r folder; do
  stack=$(printf %s "$folder" | tr -c 'A-Za-z0-9._-' -)
  if [ "$folder" = . ]; then stack=root; fi
  stackwright --chdir "$folder" init </dev/null
  stackwright --chdir "$folder" plan --no-input --stack "$stack" --out branch.plan </dev/null
  {
    echo "## $folder"
    echo
    stackwright --chdir "$folder" show --stack "$stack" --view markdown branch.plan </dev/null
  } >>"$summary"
done

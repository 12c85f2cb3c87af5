#!/bin/sh
# Publishes the packed packages of a folder to the registry that npm is set up for:
#
#   NODE_AUTH_TOKEN=... tools/release/publish-packages.sh .release/packages
#
# Refuses packages that name no repository: nobody could see where they come from, and npm signs no origin of them.
# Installs nothing and runs no script of a package. What the registry has already is left out, so that an interrupted
# publication is continued by the same call.
set -eu
folder=${1:?"name the folder with the packages"}
: "${NODE_AUTH_TOKEN:?"it is needed to sign in"}"
registry=$(npm config get registry)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# npm replaces the variable itself: the token is in no file and in no argument.
printf '%s\n' "registry=$registry" "//${registry#*://}:_authToken=\${NODE_AUTH_TOKEN}" >"$work/npmrc"
export NPM_CONFIG_USERCONFIG="$work/npmrc"
for file in "$folder"/*.tgz; do
  [ -f "$file" ] || { echo "no package is in $folder" >&2; exit 1; }
  tar --extract --to-stdout --file "$file" package/package.json >"$work/package.json"
  node -e 'process.exitCode = JSON.parse(fs.readFileSync(process.argv[1], "utf8")).repository?.url ? 0 : 1' "$work/package.json" ||
    { echo "$file: names no repository; set \"repository\" in package.json and build the release again" >&2; exit 1; }
done
for file in "$folder"/*.tgz; do
  tar --extract --to-stdout --file "$file" package/package.json >"$work/package.json"
  id=$(node -p 'const { name, version } = JSON.parse(fs.readFileSync(process.argv[1], "utf8")); `${name}@${version}`' "$work/package.json")
  code=0
  found=$(npm view "$id" version 2>"$work/error") || code=$?
  if [ -n "$found" ]; then
    echo "$id: published already"
  elif [ "$code" -eq 0 ] || grep -q E404 "$work/error"; then
    npm publish "$file" --access public --ignore-scripts
    echo "$id: published"
  else
    cat "$work/error" >&2
    exit 1
  fi
done

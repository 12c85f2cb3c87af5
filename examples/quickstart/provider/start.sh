#!/bin/sh
# Installed as terraform-provider-files: starts the provider on the Node that comes first in PATH.
exec node "@PROVIDER@" "$@"

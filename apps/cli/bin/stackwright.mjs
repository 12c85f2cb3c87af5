#!/usr/bin/env node
// For those who know the launcher by this name.
import { createRequire } from "node:module";

createRequire(import.meta.url)("./stackwright.cjs");

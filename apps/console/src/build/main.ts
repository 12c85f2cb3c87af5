import { resolve } from "node:path";
import process from "node:process";
import { buildSite } from "./build-site.ts";
import { cachedSite } from "./cached-site.ts";

// Whatever the process that asks for it is for: a server that a test starts has pages as all others.
process.env["NODE_ENV"] = "production";

// Builds the console into the given folder; without one into a cache, unless the cache has it. Prints the folder.
const [given] = process.argv.slice(2);
const folder = given === undefined ? await cachedSite() : resolve(given);
if (given !== undefined) await buildSite(folder);
process.stdout.write(`${folder}\n`);

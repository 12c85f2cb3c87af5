import process from "node:process";
import { servedDocument } from "../src/testing/served-document.ts";

// Prints the OpenAPI document of a server: what `packages/client` is generated from.
process.stdout.write(`${JSON.stringify(await servedDocument(), undefined, 2)}\n`);

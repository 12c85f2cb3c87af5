import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { referencePages } from "../src/openapi/reference-pages.ts";
import { servedDocument } from "../src/testing/served-document.ts";

// Writes docs/api from the OpenAPI document of a server.
const folder = join(import.meta.dirname, "../docs/api");
const pages = referencePages(await servedDocument());
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const { file, markdown } of pages) await writeFile(join(folder, file), markdown);

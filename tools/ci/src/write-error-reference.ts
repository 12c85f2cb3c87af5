import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { errorReference } from "./error-reference.ts";

const root = join(import.meta.dirname, "../../..");
const path = join(root, "docs/error-codes.md");
writeFileSync(path, await errorReference(root));
await requireCommand(["biome", "check", "--write", "--linter-enabled=false", path], { cwd: root });

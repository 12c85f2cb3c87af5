// Plain JavaScript for Node >= 20, as bootstrap.mjs. pnpm runs it after it has installed the workspace.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { execNode } from "./exec-node.mjs";

execNode(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

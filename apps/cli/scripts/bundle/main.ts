import { join } from "node:path";
import { bundleCommand } from "./bundle-command.ts";

// Makes `dist` of the command; the declarations are there already.
const root = join(import.meta.dirname, "../../../..");
const { packages } = await bundleCommand(root, join(root, "apps/cli/dist"));
process.stdout.write(`bundled with ${packages.length} packages of others\n`);

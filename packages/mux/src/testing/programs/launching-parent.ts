import process from "node:process";
import { launchProvider } from "../../host/launch-provider.ts";

/* Launches the provider that its arguments name, says where it is, and waits to be killed. */
const [command = "", ...args] = process.argv.slice(2);
const { group, pid } = await launchProvider({ command, args, env: process.env });
process.stdout.write(`${JSON.stringify({ group, pid })}\n`);
setInterval(() => undefined, 60_000);

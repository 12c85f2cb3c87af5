import { runServersCommand } from "./command.ts";

process.exitCode = await runServersCommand(process.argv.slice(2));

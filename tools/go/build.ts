import { runBuildCommand } from "./src/command.ts";

process.exitCode = await runBuildCommand(process.argv.slice(2), process.env);

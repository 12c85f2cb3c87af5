/* Launches the echo provider with its folder in the one that is given, says which processes it has, and waits to be killed. */
import { launchTerraformProvider } from "../../launch/launch-provider.ts";
import { ECHO } from "./programs.ts";

const { group, pid } = await launchTerraformProvider({
  ...ECHO,
  runtimeDirectory: process.argv[2] ?? "",
});
process.stdout.write(`${JSON.stringify({ group, pid })}\n`);
setInterval(() => undefined, 60_000);

import type { CommandContext } from "../command-context.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";

export function version(
  { json }: { readonly json: boolean },
  { terminal }: CommandContext,
): ExitCode {
  const number = commandVersion();
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  terminal.write(
    json
      ? `${JSON.stringify({ stackwright_version: number, platform, node: process.versions.node })}\n`
      : `Stackwright v${number}\non ${platform}, Node.js ${process.versions.node}\n`,
  );
  return EXIT.ok;
}

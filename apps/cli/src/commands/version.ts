import { readFileSync } from "node:fs";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";

/** The version of this package. */
export function engineVersion(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  const { version } = manifest as { readonly version: string };
  return version;
}

export function version(
  { json }: { readonly json: boolean },
  { terminal }: CommandContext,
): ExitCode {
  const number = engineVersion();
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  terminal.write(
    json
      ? `${JSON.stringify({ stackwright_version: number, platform, node: process.versions.node })}\n`
      : `Stackwright v${number}\non ${platform}, Node.js ${process.versions.node}\n`,
  );
  return EXIT.ok;
}

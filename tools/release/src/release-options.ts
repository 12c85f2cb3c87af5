import { resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { PARTS, type Part } from "./parts.ts";
import { ReleaseError } from "./release-error.ts";

/** What a call of the script asks for. */
export interface ReleaseOptions {
  /** Absolute. */
  readonly output: string;
  readonly parts: readonly Part[];
  /** Names what the checks find, and continues. */
  readonly isTrial: boolean;
  /** Checks, and says what would be made. */
  readonly isDryRun: boolean;
  /** Whether `dist` of the packages is there already, made from these sources. */
  readonly isBuilt: boolean;
  /** Programs of Node that executables are made of. */
  readonly nodes: readonly string[];
}

export const HELP = `usage: node tools/release/src/main.ts [options]

Builds what a release consists of into a folder, and stops: nothing is published, tagged or sent.

  --out DIR        the folder, which must not exist or be empty (default: .release)
  --only NAME,...  some parts alone
  --dry-run        check, and say what would be made
  --trial          name what the checks find, and build all the same; never for what is published
  --built          the packages are built already (pnpm build)
  --node FILE      the Node for an executable, for each platform one (default: the one that runs this)

Parts:
${PARTS.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`).join("\n")}
`;

/** Undefined where help is asked for. */
export function releaseOptions(
  words: readonly string[],
  directory: string,
): ReleaseOptions | undefined {
  const { values } = parse(words);
  if (values.help === true) return undefined;
  const names = values.only?.split(",") ?? PARTS.map(({ name }) => name);
  const unknown = names.find((name) => PARTS.every((part) => part.name !== name));
  if (unknown !== undefined) {
    const known = PARTS.map(({ name }) => name).join(", ");
    throw new ReleaseError(
      "RELEASE_OPTION_INVALID",
      `--only: "${unknown}" is not a part of a release; use ${known}`,
    );
  }
  return {
    output: resolve(directory, values.out ?? ".release"),
    parts: PARTS.filter(({ name }) => names.includes(name)),
    isTrial: values.trial === true,
    isDryRun: values["dry-run"] === true,
    isBuilt: values.built === true,
    nodes: values.node?.map((path) => resolve(directory, path)) ?? [process.execPath],
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        out: { type: "string" },
        only: { type: "string" },
        "dry-run": { type: "boolean" },
        trial: { type: "boolean" },
        built: { type: "boolean" },
        node: { type: "string", multiple: true },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new ReleaseError("RELEASE_OPTION_INVALID", (error as Error).message);
  }
}

import type { StackOutput, StackSnapshot } from "@stackwright/core";
import { decodeJson, decodeTypeJson } from "@stackwright/cty";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { outputsText } from "../render/human-renderer.ts";
import { exactJson, type JsonMember, writeExactJson } from "../render/lossless-json.ts";
import { ShownState } from "../render/shown-state.ts";
import { omitSecrets } from "../session/omit-secrets.ts";
import { requireAdoptedToRead } from "../session/require-adopted.ts";
import { openReader, type StoreOptions } from "../session/session.ts";
import { outputsOfFile } from "../session/state-file.ts";

export interface OutputOptions extends StoreOptions {
  readonly json: boolean;
  /** The bare text of one output. */
  readonly raw: boolean;
  /** A Terraform state file that is read instead of the stack. */
  readonly state?: string;
}

/** Shows the outputs of the last run, or one of them. */
export async function output(
  name: string | undefined,
  options: OutputOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { state: file } = options;
  if (file !== undefined) {
    return showOutputs(name, options, context, { outputs: await outputsOfFile(file, context) });
  }
  // Programs get all values or none.
  const reading = options.json || options.raw ? {} : omitSecrets({}, context);
  const session = await openReader(context, options, reading);
  try {
    const { signal } = context;
    await requireAdoptedToRead(session, options, context);
    const state = session?.stack === undefined ? undefined : session.stateOf(session.stack);
    const outputs: ReadonlyMap<string, StackOutput> =
      state === undefined ? new Map() : (await state.outputs({ signal })).outputs;
    return await showOutputs(name, options, context, {
      outputs,
      // What repeats a secret of an object is hidden in a list like a sensitive output.
      objects: async () => (await state?.read({ signal }))?.objects ?? new Map(),
    });
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** Outputs, and the objects whose secrets they may repeat. */
interface ShownOutputs {
  readonly outputs: ReadonlyMap<string, StackOutput>;
  readonly objects?: () => Promise<StackSnapshot["objects"]>;
}

async function showOutputs(
  name: string | undefined,
  options: OutputOptions,
  { terminal }: CommandContext,
  { outputs, objects: read }: ShownOutputs,
): Promise<ExitCode> {
  if (name === undefined) {
    if (options.raw) throw new CommandError("--raw shows one output; name it.");
    if (options.json) terminal.write(`${allJson(outputs)}\n`);
    else if (outputs.size === 0) {
      terminal.writeError(
        "There are no outputs: the configuration has none, or nothing was applied yet.\n",
      );
    } else {
      const objects = (await read?.()) ?? new Map();
      const shown = new ShownState(
        { objects, outputs },
        { schemaOf: () => undefined, secrets: "hidden" },
      );
      terminal.write(outputsText(outputs, shown.hiddenOutputs(outputs)));
    }
    return EXIT.ok;
  }
  const one = outputs.get(name);
  if (one === undefined) {
    const names = [...outputs.keys()].toSorted().join(", ");
    throw new CommandError(`There is no output "${name}".`, {
      advice: names === "" ? "There are no outputs yet: stackwright up" : `There is: ${names}`,
    });
  }
  if (options.raw) terminal.write(rawText(name, one));
  // One line, so that `name=$(stackwright output -json NAME)` is a line of a file of variables.
  else if (options.json) terminal.write(`${writeExactJson(exactJson(one.json))}\n`);
  else {
    const hidden = new Set(one.isOmitted === true ? [name] : []);
    const text = outputsText(new Map([[name, one]]), hidden);
    terminal.write(text.slice(`${name} = `.length));
  }
  return EXIT.ok;
}

function allJson(outputs: ReadonlyMap<string, StackOutput>): string {
  const members = [...outputs]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, { type, json, sensitive }]): [string, JsonMember] => [
      name,
      { sensitive, type: exactJson(type), value: exactJson(json) },
    ]);
  return writeExactJson(Object.fromEntries(members), 2);
}

function rawText(name: string, { type, json }: StackOutput): string {
  const value = decodeJson(json, decodeTypeJson(type));
  if (!value.isNull && value.type.kind === "string") return value.asString();
  if (!value.isNull && value.type.kind === "number") return value.asBigFloat().toString();
  if (!value.isNull && value.type.kind === "bool") return String(value.asBoolean());
  throw new CommandError(
    `The output "${name}" is not a string, number or bool. Use --json to show it.`,
  );
}

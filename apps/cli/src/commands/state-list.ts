import { byAddress, recordedAddresses } from "@stackwright/core";
import { type Address, containsAddress, formatAddress, parseAddress } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { objectText } from "../render/object-text.ts";
import { ShownState } from "../render/shown-state.ts";
import { omitSecrets } from "../session/omit-secrets.ts";
import { shellWord } from "../session/plan-file.ts";
import { loadProject } from "../session/project.ts";
import { recordedSchemas } from "../session/recorded-schemas.ts";
import { requireAdoptedToRead } from "../session/require-adopted.ts";
import { openReader, type Session, type StoreOptions } from "../session/session.ts";
import { type SecretOptions, secretDisplay, snapshotOf } from "./show.ts";

/** Lists the addresses of recorded objects; all, or those below the given addresses. Needs no key. */
export async function stateList(
  addresses: readonly string[],
  options: StoreOptions & { readonly id?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const session = await openReader(context, options);
  try {
    await requireAdoptedToRead(session, options, context);
    const objects =
      session?.stack === undefined
        ? []
        : await recordedAddresses(session.store.storage, session.stack.reference, {
            signal: context.signal,
          });
    const wanted = addresses.map(addressOf);
    requireKnown(addresses, objects);
    const ids =
      options.id === undefined ? undefined : await addressesWithId(options.id, session, context);
    const found = objects
      .filter(({ address }) => ids?.has(address) !== false)
      .filter(({ address }) => wanted.length === 0 || wanted.some(isAbout(address)))
      .toSorted((left, right) => byAddress(left, right) || (left.deposed < right.deposed ? -1 : 1));
    for (const { address, deposed } of found) {
      context.terminal.write(`${address}${deposed === "" ? "" : ` (deposed ${deposed})`}\n`);
    }
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** Whether an address that is asked for covers a recorded one. */
function isAbout(recorded: string): (target: Address) => boolean {
  const { value } = parseAddress(recorded);
  return (target) => value !== undefined && containsAddress(target, value);
}

/** An address that nothing in the state has is an error, as a script may test for it. */
function requireKnown(
  addresses: readonly string[],
  objects: readonly { readonly address: string }[],
): void {
  for (const text of addresses) {
    const target = addressOf(text);
    const isKnown = objects.some(({ address }) => isAbout(address)(target));
    if (!isKnown) throw new CommandError(`No object "${text}" exists in the state.`);
  }
}

/** The addresses of objects whose attribute `id` has this value. */
async function addressesWithId(
  id: string,
  session: Session | undefined,
  context: CommandContext,
): Promise<ReadonlySet<string>> {
  const { objects } = await snapshotOf(session, context);
  const found = [...objects.values()].filter(({ value }) => {
    const attributes: unknown = value === undefined ? {} : JSON.parse(value.json);
    return (attributes as { readonly id?: unknown } | null)?.id === id;
  });
  return new Set(found.map(({ address }) => address));
}

/** Shows one recorded object. */
export async function stateShow(
  address: string,
  options: StoreOptions & SecretOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const session = await openReader(context, options, omitSecrets(options, context));
  try {
    await requireAdoptedToRead(session, options, context);
    const snapshot = await snapshotOf(session, context);
    const { objects } = snapshot;
    const target = addressOf(address);
    const wanted = formatAddress(target);
    const found = [...objects.values()].filter((object) => object.address === wanted);
    if (found.length === 0) {
      const below = [...objects.values()].filter((object) => isAbout(object.address)(target));
      throw new CommandError(`Nothing is recorded for ${address}.`, {
        advice:
          below.length === 0
            ? "stackwright state list shows the addresses that there are."
            : `Name one instance. stackwright state list ${shellWord(address)} shows them.`,
      });
    }
    const schemaOf = await recordedSchemas(found, await loadProject(context), context);
    const shown = new ShownState(snapshot, { schemaOf, secrets: secretDisplay(options) });
    for (const object of found) {
      context.terminal.write(objectText(object, context.terminal, { shown, schemaOf }));
    }
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** Reads an address from the command line. */
export function addressOf(text: string) {
  const { value, diagnostics } = parseAddress({ name: "<command line>", text });
  if (value === undefined) {
    throw new CommandError(`"${text}" is not a valid address: ${diagnostics[0]?.detail ?? ""}`);
  }
  return value;
}

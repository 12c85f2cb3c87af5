import { recordedAddresses } from "@stackwright/core";
import { containsAddress, formatAddress, parseAddress } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { objectText } from "../render/object-text.ts";
import { ShownState } from "../render/shown-state.ts";
import { omitSecrets } from "../session/omit-secrets.ts";
import { loadProject } from "../session/project.ts";
import { recordedSchemas } from "../session/recorded-schemas.ts";
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
      .filter(({ address }) => {
        const { value } = parseAddress(address);
        if (ids?.has(address) === false) return false;
        return (
          wanted.length === 0 ||
          (value !== undefined && wanted.some((target) => containsAddress(target, value)))
        );
      })
      .map(({ address, deposed }) => `${address}${deposed === "" ? "" : ` (deposed ${deposed})`}`);
    for (const line of found.toSorted()) context.terminal.write(`${line}\n`);
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** An address that nothing in the state has is an error, as a script may test for it. */
function requireKnown(
  addresses: readonly string[],
  objects: readonly { readonly address: string }[],
): void {
  for (const text of addresses) {
    const target = addressOf(text);
    const isKnown = objects.some(({ address }) => {
      const { value } = parseAddress(address);
      return value !== undefined && containsAddress(target, value);
    });
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
    const snapshot = await snapshotOf(session, context);
    const { objects } = snapshot;
    const wanted = formatAddress(addressOf(address));
    const found = [...objects.values()].filter((object) => object.address === wanted);
    if (found.length === 0) {
      throw new CommandError(`Nothing is recorded for ${address}.`, {
        advice: "stackwright state list shows the addresses that there are.",
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

import { isSecret, type PropertyValue } from "@stackwright/proto/property";
import type { NotedDecision } from "../router/lifecycle-provider.ts";
import { ProviderFailure } from "../router/provider-failure.ts";
import type { ComponentChild } from "./component-child.ts";
import { childKey } from "./component-urn.ts";

/** Most texts of a child that are shown, and the longest. */
const MAX_TRAITS = 4;
const MAX_TRAIT_LENGTH = 80;

/**
 * What a component has after its making was interrupted, as the user decides about the children whose create was called and never
 * answered. A failure names those that are not decided: they may be there, and only the user can find them.
 */
export function decideOpenChildren(
  component: string,
  children: readonly ComponentChild[],
  decision: NotedDecision,
): readonly ComponentChild[] {
  const open = children.filter(({ isOpen }) => isOpen);
  if (open.length === 0 || decision.kind === "absent") {
    return children.filter(({ isOpen }) => !isOpen);
  }
  const keyOf = ({ urn }: ComponentChild): string => childKey(component, urn);
  const ids = decision.kind === "id" ? idsOf(decision.id, open, keyOf) : undefined;
  if (ids === undefined) {
    const names = open.map((child) => `${keyOf(child)}${traitsOf(child)}`).join("; ");
    const several =
      open.length === 1
        ? ""
        : "; give the ids of those that exist as TYPE::NAME=ID, each for itself: the others do not exist then";
    throw new ProviderFailure(`it may have made ${names}${several}`);
  }
  for (const [child, id] of ids) {
    const known = children.find((one) => !one.isOpen && one.type === child.type && one.id === id);
    if (known === undefined) continue;
    // As two of them it would be deleted: as the one that was replaced, or with a child that goes.
    throw new ProviderFailure(
      `the id "${id}" is that of ${keyOf(known)}, which was there before ${keyOf(child)} was made`,
    );
  }
  for (const [child, id] of ids) {
    const same = [...ids].find(
      ([one, its]) => one !== child && one.type === child.type && its === id,
    );
    if (same === undefined) continue;
    // With either of them it would be deleted.
    throw new ProviderFailure(
      `the id "${id}" is given for ${keyOf(child)} and for ${keyOf(same[0])}`,
    );
  }
  const made = new Set([...ids.keys()].map(({ urn }) => urn));
  return children.flatMap((child) => {
    const id = ids.get(child);
    if (id !== undefined) return { ...child, id, isOpen: false };
    if (child.isOpen) return [];
    // It was made in place of this one.
    return made.has(child.urn) ? { ...child, isReplaced: true } : child;
  });
}

/**
 * The ids that are given, by child: a line for each that exists, `TYPE::NAME=ID`, or the id alone of the only one. Undefined where a line
 * names none of them.
 */
function idsOf(
  given: string,
  open: readonly ComponentChild[],
  keyOf: (child: ComponentChild) => string,
): ReadonlyMap<ComponentChild, string> | undefined {
  const ids = new Map<ComponentChild, string>();
  const [only] = open;
  for (const line of given.split("\n")) {
    const named = open.find((child) => line.startsWith(`${keyOf(child)}=`));
    const child = named ?? (open.length === 1 ? only : undefined);
    if (child === undefined || ids.has(child)) return undefined;
    ids.set(child, named === undefined ? line : line.slice(keyOf(named).length + 1));
  }
  return ids;
}

/**
 * What the user can look for: plain texts of the inputs. Each as a whole, or not at all: programs know of few values that they are
 * secrets, and the caller, who knows them, takes out whole ones alone.
 */
function traitsOf({ inputs }: ComponentChild): string {
  const texts = [...inputs].flatMap(([name, value]) => {
    const text = plainText(value);
    return text === undefined || text.length > MAX_TRAIT_LENGTH
      ? []
      : [`${name} = ${JSON.stringify(text)}`];
  });
  return texts.length === 0 ? "" : ` with ${texts.slice(0, MAX_TRAITS).join(", ")}`;
}

function plainText(value: PropertyValue): string | undefined {
  return value.kind === "string" && !isSecret(value) ? value.value : undefined;
}

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
  const named = (child: ComponentChild): boolean =>
    decision.kind === "id" && (open.length === 1 || decision.id.startsWith(`${keyOf(child)}=`));
  const decided = open.find(named);
  if (decided === undefined) {
    const names = open.map((child) => `${keyOf(child)}${traitsOf(child)}`).join("; ");
    const several =
      open.length === 1
        ? ""
        : "; give the id of one as TYPE::NAME=ID where the others do not exist";
    throw new ProviderFailure(`it may have made ${names}${several}`);
  }
  const prefix = `${keyOf(decided)}=`;
  const given = decision.kind === "id" ? decision.id : "";
  const id = given.startsWith(prefix) ? given.slice(prefix.length) : given;
  const known = children.find(
    (child) => !child.isOpen && child.type === decided.type && child.id === id,
  );
  if (known !== undefined) {
    // As two of them it would be deleted: as the one that was replaced, or with a child that goes.
    throw new ProviderFailure(
      `the id "${id}" is that of ${keyOf(known)}, which was there before ${keyOf(decided)} was made`,
    );
  }
  return children.flatMap((child) => {
    if (child === decided) return { ...child, id, isOpen: false };
    if (child.isOpen) return [];
    // It was made in place of this one.
    return child.urn === decided.urn ? { ...child, isReplaced: true } : child;
  });
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

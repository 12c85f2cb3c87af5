import type { Diff } from "../model/diff.ts";
import type { ChangeView } from "../model/plan-view.ts";
import type { GivenChange } from "./given-plan.ts";

/**
 * The shape of a change: type, action, reason, provisioners and the changed paths, without values. Only changes of one likeness are folded; what
 * their values have to agree in is decided by {@link areAlike}. Of a deleted object its resource counts.
 */
export function likenessOf(change: GivenChange, body: Diff, reason: string | undefined): string {
  const head = [change.type, change.mode, change.action, change.order ?? "", reason ?? ""];
  if (change.importing !== undefined) head.push("import");
  if (change.previousAddress !== undefined) head.push("move");
  if (change.deposed !== "") head.push("deposed");
  // What a provisioner does may be the most dangerous part of a change.
  head.push(JSON.stringify(change.provisioners ?? []));
  const rest = isWithoutValues(change)
    ? `${change.module} ${change.name}`
    : [...leafTexts(body).keys()].join(" ");
  return digest(`${head.join(" ")}\n${rest}`);
}

/** What happens to the object whatever its values are. */
function isWithoutValues({ action }: Pick<GivenChange, "action">): boolean {
  return action === "delete" || action === "forget" || action === "no-op";
}

/** The changed leaves of one change, computed once for all comparisons. */
export interface ChangedLeaves {
  /** Content by path. */
  readonly texts: ReadonlyMap<string, string>;
  /** The same with the key of the instance taken out. */
  readonly withoutKey: ReadonlyMap<string, string>;
}

export function changedLeaves(change: ChangeView): ChangedLeaves {
  if (isWithoutValues(change)) return { texts: new Map(), withoutKey: new Map() };
  const texts = leafTexts(change.body);
  const key = keyOf(change.address);
  return {
    texts,
    withoutKey: new Map([...texts].map(([path, text]) => [path, withoutKey(text, key)])),
  };
}

/**
 * Whether two changes of one likeness differ in nothing but their instance: each changed leaf is equal, or equal when the key of
 * the instance is taken out of both texts.
 */
export function areAlike(one: ChangedLeaves, other: ChangedLeaves): boolean {
  if (one.texts.size !== other.texts.size) return false;
  for (const [path, text] of one.texts) {
    const compared = other.texts.get(path);
    if (compared === undefined) return false;
    if (compared === text) continue;
    if (one.withoutKey.get(path) !== other.withoutKey.get(path)) return false;
  }
  return true;
}

/** The key of an instance at the end of an address. */
function keyOf(address: string): string | undefined {
  const found = /\[(?:"((?:[^"\\]|\\.)*)"|(\d+))\]$/.exec(address);
  return found?.[1] ?? found?.[2];
}

/** The text without the key of an instance: a number counts only between separators, as in `web-0`. */
function withoutKey(text: string, key: string | undefined): string {
  if (key === undefined || key === "") return text;
  if (!/^\d+$/.test(key)) return text.replaceAll(key, MARK);
  return text.replaceAll(new RegExp(`(?<=[-_/:"\\[])${key}(?=[-_/:"\\]])`, "g"), MARK);
}

const MARK = "\u{FFFC}";

/** The changed leaves of a body by their paths; a list or a document is one leaf. */
function leafTexts(body: Diff): Map<string, string> {
  const texts = new Map<string, string>();
  const visit = (diff: Diff, path: string): void => {
    if (diff.kind === "object" || diff.kind === "map") {
      for (const { name, diff: inner } of diff.members) {
        visit(inner, path === "" ? name : `${path}.${name}`);
      }
    } else if ((diff.kind === "add" || diff.kind === "remove") && path === "") {
      if (diff.value.kind !== "object") return;
      for (const { name, value } of diff.value.members) texts.set(name, JSON.stringify(value));
    } else if (diff.kind !== "same") texts.set(path, JSON.stringify(diff));
  };
  visit(body, "");
  return texts;
}

/** Two 32-bit hashes (FNV-1a with different starts) as 16 hexadecimal digits: the package uses no platform API. */
function digest(text: string): string {
  return hash(text, 0x811c9dc5) + hash(text, 0x9747b28c);
}

function hash(text: string, start: number): string {
  let state = start;
  for (let index = 0; index < text.length; index++) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }
  return (state >>> 0).toString(16).padStart(8, "0");
}

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
  /** The key of the instance; undefined where it has none that can be a part of a text. */
  readonly key: string | undefined;
}

export function changedLeaves(change: ChangeView): ChangedLeaves {
  if (isWithoutValues(change)) return { texts: new Map(), key: undefined };
  const key = keyOf(change.address);
  return { texts: leafTexts(change.body), key: key === "" ? undefined : key };
}

/**
 * Whether two changes of one likeness differ in nothing but their instance: each changed leaf is equal, or has the key of the own
 * instance where the other one has that of its.
 */
export function areAlike(one: ChangedLeaves, other: ChangedLeaves): boolean {
  if (one.texts.size !== other.texts.size) return false;
  for (const [path, text] of one.texts) {
    const compared = other.texts.get(path);
    if (compared === undefined) return false;
    if (compared !== text && !differInKeys(text, one.key, compared, other.key)) return false;
  }
  return true;
}

/** The key of an instance at the end of an address. */
function keyOf(address: string): string | undefined {
  const found = /\[(?:"((?:[^"\\]|\\.)*)"|(\d+))\]$/.exec(address);
  return found?.[1] ?? found?.[2];
}

/** Places of a pair of texts at which the keys may or may not be meant: beyond so many the texts count as different. */
const MOST_CHOICES = 32;

/**
 * Whether two texts are equal but for the keys, compared from left to right: what is equal in both may be a key as well, as the 1 in
 * `eu-1-web-1` of the instance 1 is one and the other one is none. Where they differ, both have to have their key. Where both readings are
 * possible, as with keys of one beginning, the key is tried first, and the equal characters if that leads nowhere.
 */
function differInKeys(
  text: string,
  key: string | undefined,
  compared: string,
  otherKey: string | undefined,
): boolean {
  if (key === undefined || otherKey === undefined) return false;
  const choices: (readonly [at: number, other: number])[] = [[0, 0]];
  const made = new Set<string>();
  for (let start = choices.pop(); start !== undefined; start = choices.pop()) {
    let [at, other] = start;
    // A choice continues with the characters; the key was tried when it was made.
    let isKeyTried = made.has(`${at} ${other}`);
    while (at < text.length && other < compared.length) {
      const isEqual = text[at] === compared[other];
      if (!isKeyTried && isKeyAt(text, key, at) && isKeyAt(compared, otherKey, other)) {
        const choice = `${at} ${other}`;
        if (isEqual && key !== otherKey && !made.has(choice) && made.size < MOST_CHOICES) {
          made.add(choice);
          choices.push([at, other]);
        }
        at += key.length;
        other += otherKey.length;
      } else if (isEqual) {
        at++;
        other++;
      } else break;
      isKeyTried = false;
    }
    if (at === text.length && other === compared.length) return true;
  }
  return false;
}

/** A number is a key only between separators, as in `web-0` and `10.0.0.0`. */
function isKeyAt(text: string, key: string, at: number): boolean {
  if (!text.startsWith(key, at)) return false;
  if (!/^\d+$/.test(key)) return true;
  return BEFORE_NUMBER.test(text[at - 1] ?? "") && AFTER_NUMBER.test(text[at + key.length] ?? "");
}

const BEFORE_NUMBER = /^[-_/:."[]$/;
const AFTER_NUMBER = /^[-_/:."\]]$/;

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

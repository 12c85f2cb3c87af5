/** An object that is other than recorded, without its values. */
interface FoundDriftedObject {
  readonly address: string;
  /** Key of a deposed object; empty for the current one. */
  readonly deposed: string;
  /** It is gone. */
  readonly deleted: boolean;
  /** Names of the attributes that differ. */
  readonly attributes: readonly string[];
}

/** What a check found to be other than recorded. */
export interface FoundDrift {
  readonly changed: number;
  readonly deleted: number;
  /** The first ones. */
  readonly objects: readonly FoundDriftedObject[];
}

export const NO_DRIFT: FoundDrift = { changed: 0, deleted: 0, objects: [] };

/** Objects that are named, attributes of each, and characters of an address or a name. */
export const MAX_DRIFTED = 100;
export const MAX_DRIFTED_ATTRIBUTES = 20;
export const MAX_DRIFTED_TEXT = 512;
/** Characters of all of them. The counts are of all objects, whatever is named. */
const MAX_ALL_TEXT = 16 * 1024;

/** As much of what was found as is kept. */
export function boundDrift({ changed, deleted, objects }: FoundDrift): FoundDrift {
  const kept: FoundDriftedObject[] = [];
  let left = MAX_ALL_TEXT;
  for (const { address, deposed, deleted: isGone, attributes } of objects.slice(0, MAX_DRIFTED)) {
    if (address.length > MAX_DRIFTED_TEXT) continue;
    const named = attributes
      .filter((name) => name.length <= MAX_DRIFTED_TEXT)
      .slice(0, MAX_DRIFTED_ATTRIBUTES);
    left -= address.length + named.reduce((sum, name) => sum + name.length, 0);
    if (left < 0) break;
    kept.push({ address, deposed: deposed.slice(0, 64), deleted: isGone, attributes: named });
  }
  return { changed, deleted, objects: kept };
}

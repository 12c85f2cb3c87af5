import type { StackStatus } from "@stackwright/client";

/** A stack whose plans may change with the outputs of another one. */
export interface Dependent {
  readonly status: StackStatus;
  /** 1 for those that read the outputs themselves. */
  readonly distance: number;
  /** PROJECT/NAME of the stacks on the way that it reads. */
  readonly via: readonly string[];
}

/** The stacks that depend on a stack, PROJECT/NAME, directly or over others; the nearest first. */
export function dependentsOf(stacks: readonly StackStatus[], name: string): readonly Dependent[] {
  const readers = new Map<string, StackStatus[]>();
  for (const status of stacks) {
    for (const producer of status.reads) {
      const known = readers.get(producer);
      if (known === undefined) readers.set(producer, [status]);
      else known.push(status);
    }
  }
  const found = new Map<string, { status: StackStatus; distance: number; via: string[] }>();
  let level = [name];
  for (let distance = 1; level.length > 0; distance += 1) {
    const next: string[] = [];
    for (const producer of level) {
      for (const status of readers.get(producer) ?? []) {
        const own = `${status.project}/${status.name}`;
        // Stacks cannot read each other in a circle, but a status may be of the time before.
        if (own === name) continue;
        const known = found.get(own);
        if (known !== undefined) {
          known.via.push(producer);
          continue;
        }
        found.set(own, { status, distance, via: [producer] });
        next.push(own);
      }
    }
    level = next;
  }
  return [...found.values()];
}

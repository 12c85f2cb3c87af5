import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { runSpawned } from "./spawned-command.ts";

// The records that terraform-provider-lab keeps of its objects, and what a store says of the same ones.

/** Objects by the records of the provider. */
export async function labRecords(
  lab: string,
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  const files = (await readdir(lab)).filter((name) => name.endsWith(".json"));
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(lab, name), "utf8")) as never),
  );
}

/** Runs the command in the folder of a configuration. */
type RunWords = (...words: string[]) => ReturnType<typeof runSpawned>;

/** Ids of objects by the store of the folder that a command runs in, sorted; without those of which it is not known whether they exist. */
export async function storedIds(run: RunWords): Promise<readonly string[]> {
  const { text } = await run("show", "--json");
  const shown = JSON.parse(text.slice(text.indexOf('{"format_version"'))) as Shown;
  const resources = shown.values?.root_module?.resources ?? [];
  return resources.flatMap(({ values }) => values?.id ?? []).toSorted();
}

interface Shown {
  readonly values?: { readonly root_module?: { readonly resources?: readonly ShownObject[] } };
}
interface ShownObject {
  readonly values: { readonly id?: string } | null;
}

/**
 * Applies until nothing is left to do. Nothing has to be given to the applies but what they ask for: whether an object exists of which
 * that is not known, which the records say.
 *
 * @returns the last apply, and how many objects were not known
 */
export async function applyByRecords(
  run: RunWords,
  lab: string,
): Promise<{ readonly code: number | null; readonly text: string; readonly unresolved: number }> {
  let unresolved = 0;
  let done = await run("up", "--yes");
  for (let more = 0; more < 6 && done.code !== 0; more += 1) {
    for (const warning of done.text.split("╷")) {
      const address = /^│\s+with (lab_object\.\S+),$/m.exec(warning)?.[1];
      if (address === undefined || !warning.includes("not known")) continue;
      unresolved += 1;
      const name = /name\s*=\s*"([^"]+)"/.exec(warning.replaceAll(/\s*\n│\s*/g, " "))?.[1];
      const known = await storedIds(run);
      const object = (await labRecords(lab)).find(
        (one) => one.name === name && !known.includes(one.id),
      );
      await (object === undefined
        ? run("state", "resolve-absent", address)
        : run("recover", "--id", `${address}=${object.id}`));
    }
    done = await run("up", "--yes");
  }
  return { ...done, unresolved };
}

import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { StoreFolder } from "./store-folder.ts";

/** The folder of a store that does not exist yet, and one below which it is going to. */
async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "store-folder-"));
  onTestFinished(() => scratch.remove());
  const directory = join(scratch.path, "data", "store");
  const folder = new StoreFolder(directory);
  onTestFinished(() => folder[Symbol.dispose]());
  const end = new AbortController();
  const { signal } = end;
  await folder.written(signal);
  return { directory, folder, end, signal, file: join(directory, "store.db") };
}

/** A call of `written`, and whether it has ended. */
function asked(folder: StoreFolder, signal: AbortSignal) {
  const progress = { isDone: false };
  const wait = async () => {
    await folder.written(signal);
    progress.isDone = true;
  };
  const done = wait();
  return { progress, done };
}

it("is written when the store is made below folders that are not there yet, and with each later write", async () => {
  const { directory, folder, signal, file } = await start();
  const first = asked(folder, signal);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, "a");
  await first.done;
  const second = asked(folder, signal);
  appendFileSync(file, "b");
  await second.done;
  expect([first.progress.isDone, second.progress.isDone]).toEqual([true, true]);
});

it("is not written by what readers leave there", async () => {
  const { directory, folder, signal, file } = await start();
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, "a");
  await folder.written(signal);
  const next = asked(folder, signal);
  writeFileSync(`${file}-shm`, "an index");
  writeFileSync(`${file}-wal`, "");
  await new Promise((resolve) => void setTimeout(resolve, 400));
  expect(next.progress.isDone).toBe(false);
  writeFileSync(`${file}-wal`, "a commit");
  await next.done;
});

it("is written when it is removed and made again, also at once", async () => {
  const { directory, folder, signal, file } = await start();
  const make = (text: string) => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(file, text);
  };
  make("a");
  await folder.written(signal);
  const gone = asked(folder, signal);
  rmSync(directory, { recursive: true });
  await gone.done;
  const back = asked(folder, signal);
  make("b");
  await back.done;
  const other = asked(folder, signal);
  rmSync(directory, { recursive: true });
  make("of another size");
  await other.done;
  const later = asked(folder, signal);
  appendFileSync(file, "and more");
  await later.done;
  expect(later.progress.isDone).toBe(true);
});

it("is waited for until the signal aborts", async () => {
  const { folder, end, signal } = await start();
  const next = asked(folder, signal);
  end.abort(new Error("enough"));
  await expect(next.done).rejects.toThrow("enough");
});

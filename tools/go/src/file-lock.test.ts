import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withFileLock } from "./file-lock.ts";
import { ToolsFolder } from "./testing/tools-folder.ts";

describe("withFileLock", () => {
  it("lets one in after the other", async () => {
    using folder = new ToolsFolder();
    const file = join(folder.root, "deep/lock");
    const events: string[] = [];
    const work = (name: string) =>
      withFileLock(
        file,
        async () => {
          events.push(`${name} in`);
          await new Promise((resolve) => setImmediate(resolve));
          events.push(`${name} out`);
        },
        { pollMs: 1 },
      );
    await Promise.all([work("a"), work("b"), work("c")]);
    expect(events).toHaveLength(6);
    for (let index = 0; index < 6; index += 2) {
      expect(events[index + 1]).toBe(events[index]?.replace("in", "out"));
    }
  });

  it("frees the lock when the work fails", async () => {
    using folder = new ToolsFolder();
    const file = join(folder.root, "lock");
    await expect(withFileLock(file, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(withFileLock(file, () => Promise.resolve("free"))).resolves.toBe("free");
  });

  it("rejects with the signal's reason while it waits", async () => {
    using folder = new ToolsFolder();
    const file = join(folder.root, "lock");
    const stop = new AbortController();
    await withFileLock(file, async () => {
      const second = withFileLock(file, () => Promise.resolve(), {
        signal: stop.signal,
        pollMs: 1,
      });
      stop.abort(new Error("enough"));
      await expect(second).rejects.toThrow("enough");
    });
  });

  it("is free again when the process that held it was killed", async () => {
    using folder = new ToolsFolder();
    const file = join(folder.root, "lock");
    const source = join(import.meta.dirname, "file-lock.ts");
    const holder = spawn(process.execPath, [
      "--input-type=module",
      "-e",
      `import { withFileLock } from ${JSON.stringify(source)};
       await withFileLock(${JSON.stringify(file)}, () => {
         console.log("held");
         return new Promise((resolve) => setTimeout(resolve, 600_000));
       });`,
    ]);
    await once(holder.stdout, "data");
    let entered = false;
    const waiting = withFileLock(
      file,
      () => {
        entered = true;
        return Promise.resolve();
      },
      { pollMs: 5 },
    );
    expect(entered).toBe(false);
    holder.kill("SIGKILL");
    await waiting;
    expect(entered).toBe(true);
  });
});

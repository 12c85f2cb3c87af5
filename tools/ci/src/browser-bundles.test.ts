import { join } from "node:path";
import { runInContext } from "node:vm";
import { expect, it } from "vitest";
import { bundleForPage, loadInPage } from "./browser-bundles.ts";

const packages = join(import.meta.dirname, "..", "..", "..", "packages");

it("what needs a global of Node does not load in a page", () => {
  expect(() => loadInPage("var bundle = Buffer.from('a');")).toThrow("Buffer is not defined");
  expect(() => loadInPage("var bundle = new SharedArrayBuffer(1);")).toThrow("not defined");
});

it("the collections work in a page: turns, handlers, loads in slices, timers", async () => {
  const script = await bundleForPage('export * from "./index.ts";', join(packages, "krt", "src"));
  const page = loadInPage(script);
  const seen = (await runInContext(
    `(async () => {
      const rt = bundle.createRuntime({ sliceMs: 0.01 });
      const source = rt.source([{ key: "a", n: 1 }]);
      const doubled = rt.derive(source, (ctx, { key, n }) => ({ key, n: 2 * n }));
      const seen = [];
      doubled.subscribe(({ type, key }) => void seen.push(type + " " + key));
      const many = Array.from({ length: 300 }, (_, i) => ({ key: "b" + i, n: i }));
      await source.load(many);
      await rt.settled();
      const watched = bundle.fromWatch(rt, {
        list: () => Promise.resolve({ objects: [{ key: "w" }] }),
        watch: async function* () { throw new Error("later again, after a pause"); },
      });
      await watched.whenSynced();
      const last = doubled.get("b299").n;
      rt.dispose();
      return [seen.length, seen[0], last].join();
    })()`,
    page,
  )) as string;
  expect(seen).toBe("301,add a,598");
});

import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { MemoryBlobs } from "@stackwright/core/testing";
import { expect, it } from "vitest";
import { createRunFixture } from "../testing/run-fixture.ts";
import { tarOf } from "../testing/tar-of.ts";
import { storeConfiguration } from "./store-configuration.ts";

it("a version is stored with the versions of providers that it allows", async () => {
  const { parts, stack } = createRunFixture();
  const source = "stackwright.example.com/team/net";
  const text = `terraform {
    required_providers {
      net = { source = "${source}", version = "~> 1.0" }
    }
  }`;
  const archive = gzipSync(tarOf({ "stacks/one/main.tf": text, "data.bin": "x" }));
  const { version } = await storeConfiguration(
    { ...parts, blobs: new MemoryBlobs() },
    {
      stack: await stack("one"),
      stackName: "one",
      actor: "ann",
      content: Readable.from([archive]),
      signal: new AbortController().signal,
      root: "stacks/one",
    },
  );
  expect(version).toMatchObject({
    files: 2,
    providerConstraints: [{ source, versions: "~> 1.0" }],
  });
});

it.each([
  ["stands still", Number.POSITIVE_INFINITY],
  ["sends a byte now and then", 20_000],
])("an upload that %s is given up", async (_, pauseMs) => {
  const { parts, clock, stack } = createRunFixture();
  const content = async function* () {
    for (;;) {
      yield new Uint8Array(1);
      await new Promise<void>((resolve) => {
        if (pauseMs < Number.POSITIVE_INFINITY) clock.after(pauseMs, resolve);
      });
    }
  };
  const stored = storeConfiguration(
    { ...parts, blobs: new MemoryBlobs() },
    {
      stack: await stack("one"),
      stackName: "one",
      actor: "ann",
      content: content(),
      signal: new AbortController().signal,
    },
  ).catch((error: unknown) => error);
  const outcomes: unknown[] = [];
  void stored.then((error) => outcomes.push(error));
  for (let passed = 0; outcomes.length === 0 && passed < 2 * 3_600_000; passed += 20_000) {
    await clock.advance(20_000);
  }
  expect(outcomes).toMatchObject([{ code: "invalid_request" }]);
});

it("files that are uploaded once more count as new", async () => {
  const { parts, clock, stack } = createRunFixture();
  const given = {
    stack: await stack("one"),
    stackName: "one",
    actor: "ann",
    signal: new AbortController().signal,
  };
  const archive = gzipSync(tarOf({ "main.tf": "" }));
  const blobs = new MemoryBlobs();
  const upload = async () =>
    storeConfiguration({ ...parts, blobs }, { ...given, content: Readable.from([archive]) });
  await upload();
  clock.skip(100 * 3_600_000);
  const { version, isNew } = await upload();
  expect([isNew, Number(version.createdAtMs)]).toEqual([false, clock.wallMs()]);
});

import { join } from "node:path";
import process from "node:process";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { installation } from "../installation/installation.ts";
import { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";
import { Fleet, type ServerPlace } from "./fleet.ts";
import { FORMER_RELEASES, installFormerRelease } from "./former-release.ts";
import { FILES, gatedFiles } from "./gated-files.ts";

// One server of a former release on an embedded store, which has one server at a time: it ends its apply, and the next one continues.

describe("an upgrade of a server with an embedded store", () => {
  beforeEach((context) => {
    context.skip(
      process.env["TEST_FORMER_RELEASES"] === undefined,
      "TEST_FORMER_RELEASES is not set",
    );
  });

  it.for([FORMER_RELEASES.workers])(
    "from the release $name: its last apply ends, and the queue goes on",
    { timeout: 30 * 60_000, retry: 0 },
    async (release) => {
      const former = [await installFormerRelease(release)] as const;
      const present = installation().command;
      const scratch = await Scratch.make();
      onTestFinished(async () => scratch[Symbol.asyncDispose]());
      const fleet = new Fleet(scratch, `sqlite:${join(scratch.folder, "store")}`);
      await fleet.begin(former);
      const [one] = (await fleet.places(1)) as [ServerPlace];
      const first = await fleet.server(former, one, []);
      onTestFinished(() => first.process.signal("SIGKILL"));
      await fleet.call(one, "/stacks", { name: "one" });
      const run = await fleet.request(one, "one", gatedFiles(scratch.site));
      await waitFor("the call for f2", () => scratch.calls().includes("create f2"), {
        seen: () => first.process.text,
      });
      const queued = await fleet.request(one, "one", gatedFiles(scratch.site));
      const ending = first.stop();
      for (const name of FILES) await scratch.open(`open-${name}`);
      expect(await ending).toMatchObject({ code: 0 });
      const next = await fleet.server(present, one, []);
      onTestFinished(() => next.process.signal("SIGKILL"));
      await fleet.reaches(one, run, /^applied$/);
      await fleet.reaches(one, queued, /^no_changes$/);
      expect(scratch.calls()).toEqual(FILES.map((name) => `create ${name}`));
      expect(await next.stop()).toMatchObject({ code: 0 });
    },
  );
});

import { randomUUID } from "node:crypto";
import process from "node:process";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { installation } from "../installation/installation.ts";
import { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";
import { makeDatabase } from "./database.ts";
import { EventReader } from "./event-reader.ts";
import { Fleet, type Member, type ServerPlace } from "./fleet.ts";
import { FORMER_RELEASES, installFormerRelease } from "./former-release.ts";
import { FILES, gatedFiles, openFile } from "./gated-files.ts";

// Two servers and two workers of a former release on one PostgreSQL or etcd, exchanged one by one for those of this release in the middle
// of an apply, whose provider waits in each call until the test lets it continue. The former releases are built from the history, which takes
// minutes, so `.ci/soak --only upgrade` runs this.

const POSTGRES = process.env["TEST_POSTGRES_URL"];
const ETCD = process.env["TEST_ETCD_ENDPOINTS"];
/** Where an empty store of its own is made, and from which releases the upgrade is. */
const STORES = [
  {
    store: "PostgreSQL",
    server: POSTGRES,
    releases: [FORMER_RELEASES.workers, FORMER_RELEASES.neighbour],
    make: async (server: string) => makeDatabase(server),
  },
  {
    store: "etcd",
    server: ETCD,
    releases: [FORMER_RELEASES.neighbour],
    make: async (server: string) => `etcd://${new URL(server).host}/upgrade-${randomUUID()}`,
  },
] as const;
const NEWER_TABLES = "the tables belong to a newer release";
const STACK = "network";
const CALL_MS = 180_000;

describe("an upgrade in mid-run", () => {
  beforeEach((context) => {
    context.skip(
      process.env["TEST_FORMER_RELEASES"] === undefined,
      "TEST_FORMER_RELEASES is not set",
    );
  });

  it.for(
    STORES.flatMap((place) =>
      place.releases.map((release) => ({ ...place, release, name: release.name })),
    ),
  )(
    "from the release $name on $store: each operation is applied once, and every reader has all events",
    { timeout: 30 * 60_000, retry: 0 },
    async ({ release, store, server: storeServer, make }, context) => {
      if (storeServer === undefined) return context.skip(`no server of ${store} is named`);
      const former = [await installFormerRelease(release)] as const;
      const present = installation().command;
      const scratch = await Scratch.make();
      onTestFinished(async () => scratch[Symbol.asyncDispose]());
      const fleet = new Fleet(scratch, await make(storeServer));
      const members: Member[] = [];
      onTestFinished(() => {
        for (const { process: one } of members) if (!one.hasEnded) one.signal("SIGKILL");
      });
      const added = <M extends Member>(member: M): M => {
        members.push(member);
        return member;
      };
      await fleet.begin(former);
      const [one, two] = (await fleet.places(2)) as [ServerPlace, ServerPlace];
      const servers = [one, two];
      const formerOne = added(await fleet.server(former, one));
      const formerTwo = added(await fleet.server(former, two));
      const formerWorkers = [
        added(fleet.worker(former, [one, two], "w1")),
        added(fleet.worker(former, [two, one], "w2")),
      ];
      for (const { process: worker } of formerWorkers) await worker.says("claims steps");

      await fleet.call(one, "/stacks", { name: STACK });
      const run = await fleet.request(one, STACK, gatedFiles(scratch.site));
      const reading = new AbortController();
      onTestFinished(() => reading.abort());
      const options = { token: fleet.token, signal: reading.signal };
      const reader = new EventReader([two, one], run, options);
      reader.done.catch(() => undefined);
      const called = async (name: string) =>
        waitFor(`the call for ${name}`, () => scratch.calls().includes(`create ${name}`), {
          limitMs: CALL_MS,
          seen: () => members.map((member) => member.process.text.slice(-3_000)).join("\n---\n"),
        });
      await called("f2");

      // The second server: the first one of the former release stays beside the new one, on tables of the new layout.
      expect(await formerTwo.stop()).toMatchObject({ code: 0 });
      const newTwo = added(await fleet.server(present, two));
      await scratch.open("open-f2");
      await called("f3");
      for (const server of servers) {
        expect(await fleet.call(server, run)).toMatchObject({ phase: "applying" });
        const name = `beside-${server.name}`;
        await fleet.call(server, "/stacks", { name });
        for (const other of servers) {
          expect(await fleet.call(other, `/stacks/${name}`)).toMatchObject({ name });
        }
      }
      await keepWhatFormerServersDoNotKnow(fleet, two);
      await scratch.open("open-f3");
      await called("f4");

      // The workers, while a server of their release is there: one of another protocol gives them no steps. The idle one first; the one
      // that applies ends with its apply.
      const busy = formerWorkers.find(({ process: worker }) =>
        worker.text.includes('"step":"apply"'),
      );
      const idle = formerWorkers.find((worker) => worker !== busy);
      expect(await idle?.stop()).toMatchObject({ code: 0 });
      const newWorkers = [added(fleet.worker(present, [two], "w3"))];
      await newWorkers[0]?.process.says("claims steps");
      await scratch.open("open-f4");
      await called("f5");
      const ending = busy?.stop();
      await scratch.open("open-f5");
      await scratch.open("open-f6");
      await fleet.reaches(two, run, /^applied$/);
      expect(await ending).toMatchObject({ code: 0 });

      // The last server of the former release.
      expect(errorsOf(formerOne)).toEqual([]);
      expect(await formerOne.stop()).toMatchObject({ code: 0 });
      const newOne = added(await fleet.server(present, one));
      newWorkers.push(added(fleet.worker(present, servers, "w4")));

      await reader.done;
      const sequence = reader.events.map(({ seq }) => seq);
      expect(sequence).toEqual(sequence.map((_, index) => index + 1));
      expect(new Set(reader.events.map(({ from }) => from)).size).toBe(2);
      expect(scratch.calls()).toEqual(FILES.map((name) => `create ${name}`));

      // Nothing of the state is lost: the next run of the new workers has nothing to do.
      const next = await fleet.request(two, STACK, gatedFiles(scratch.site));
      await fleet.reaches(one, next, /^no_changes$/);
      expect(errorsOf(newOne)).toEqual([]);
      expect(errorsOf(newTwo)).toEqual([]);

      for (const worker of newWorkers) expect(await worker.stop()).toMatchObject({ code: 0 });
      if (release.hasProtocol) {
        // The protocol is the same: a worker that came back to it applies for the new servers.
        const worker = added(fleet.worker(former, servers, "w5"));
        const last = await fleet.request(one, STACK, gatedFiles(scratch.site));
        await fleet.reaches(two, last, /^no_changes$/);
        expect(worker.process.text).toContain('"step":"plan"');
        expect(await worker.stop()).toMatchObject({ code: 0 });
      }
      for (const member of [newOne, newTwo]) {
        expect(await member.stop()).toMatchObject({ code: 0 });
      }
      if (release.hasTables || store !== "PostgreSQL") {
        expect(await added(await fleet.server(former, one)).stop()).toMatchObject({ code: 0 });
        return undefined;
      }
      const back = await fleet.run(former, ["serve", ...fleet.storeWords(), "--port", "0"]);
      expect(back).toMatchObject({ code: 1, error: expect.stringContaining(NEWER_TABLES) });
      return undefined;
    },
  );

  it("from the release first: a command of it applies while the servers are exchanged", {
    timeout: 30 * 60_000,
    retry: 0,
  }, async (context) => {
    context.skip(POSTGRES === undefined, "TEST_POSTGRES_URL names no server");
    const former = [await installFormerRelease(FORMER_RELEASES.first)] as const;
    const present = installation().command;
    const scratch = await Scratch.make();
    onTestFinished(async () => scratch[Symbol.asyncDispose]());
    const fleet = new Fleet(scratch, await makeDatabase(POSTGRES ?? ""));
    await fleet.begin(former);
    const [one] = (await fleet.places(1)) as [ServerPlace];
    const formerServer = await fleet.server(former, one, []);
    await scratch.write({ "main.tf": gatedFiles(scratch.site) });
    const words = ["--store", fleet.store];
    const applies = fleet.start(former, ["up", "--yes", ...words]);
    onTestFinished(() => applies.signal("SIGKILL"));
    const called = async (name: string) =>
      waitFor(`the call for ${name}`, () => scratch.calls().includes(`create ${name}`), {
        seen: () => applies.text,
      });
    await called("f2");
    expect(await formerServer.stop()).toMatchObject({ code: 0 });
    const server = await fleet.server(present, one);
    for (const name of FILES.slice(1)) {
      await called(name);
      await scratch.open(`open-${name}`);
    }
    expect(await applies.end()).toMatchObject({ code: 0 });
    expect(scratch.calls()).toEqual(FILES.map((name) => `create ${name}`));
    const planned = await fleet.run(present, ["plan", "--detailed-exitcode", ...words]);
    expect(planned).toMatchObject({ code: 0 });
    expect(await server.stop()).toMatchObject({ code: 0 });
    const back = await fleet.run(former, ["plan", ...words]);
    expect(back).toMatchObject({ code: 1, error: expect.stringContaining(NEWER_TABLES) });
  });

  it("commands of the release neighbour and of this one use servers of the other", {
    timeout: 30 * 60_000,
    retry: 0,
  }, async (context) => {
    context.skip(POSTGRES === undefined, "TEST_POSTGRES_URL names no server");
    const former = [await installFormerRelease(FORMER_RELEASES.neighbour)] as const;
    const present = installation().command;
    const scratch = await Scratch.make();
    onTestFinished(async () => scratch[Symbol.asyncDispose]());
    const fleet = new Fleet(scratch, await makeDatabase(POSTGRES ?? ""));
    await fleet.begin(former);
    const [place] = (await fleet.places(1)) as [ServerPlace];
    await scratch.write({ "main.tf": openFile(scratch.site) });
    const pairs = [
      { stack: "newer-command", command: present, server: former },
      { stack: "older-command", command: former, server: present },
    ] as const;
    for (const { stack, command, server } of pairs) {
      const member = await fleet.server(server, place, []);
      onTestFinished(() => void (member.process.hasEnded || member.process.signal("SIGKILL")));
      await fleet.call(place, "/stacks", { name: stack });
      const runs = async (...words: readonly string[]) => {
        const [verb = "", ...more] = words;
        const at = ["--server", place.url, "--stack", stack];
        const env = { STACKWRIGHT_TOKEN: fleet.token };
        return fleet.start(command, ["runs", verb, ...at, ...more], env).end(CALL_MS);
      };
      expect(await runs("start", "--yes")).toMatchObject({ code: 0 });
      expect(await runs("logs")).toMatchObject({
        code: 0,
        output: expect.stringMatching(/gate_file\.(?:only|other)/),
      });
      expect(await runs("freeze", "--reason", "a look at it")).toMatchObject({ code: 0 });
      expect(await runs("unfreeze")).toMatchObject({ code: 0 });
      // What the other release has recorded is what exists.
      expect(await runs("start", "--yes")).toMatchObject({ code: 0 });
      const listed = await runs("list", "--json");
      const phases = (JSON.parse(listed.output) as readonly { phase: string }[]).map(
        ({ phase }) => phase,
      );
      expect(phases).toEqual(["no_changes", "applied"]);
      expect(await member.stop()).toMatchObject({ code: 0 });
      await scratch.write({ "main.tf": openFile(scratch.site, "other") });
    }
    expect(scratch.calls()).toEqual(["create only", "create other"]);
  });
});

/** Kinds and fields that came after the former releases. */
async function keepWhatFormerServersDoNotKnow(fleet: Fleet, server: ServerPlace): Promise<void> {
  await fleet.call(server, "/notifications", {
    name: "ops",
    kind: "webhook",
    url: "https://ops.example.com/",
  });
  await fleet.call(server, `/stacks/${STACK}/drift`, { every_minutes: 1440 }, "PUT");
}

/** Lines of a log that are errors. A lease is lost where a machine is busy, and says nothing of releases. */
function errorsOf({ process: { text } }: Member): string[] {
  const errors = text.split("\n").filter((line) => /"level":(?:50|60)\b/.test(line));
  return errors.filter((line) => !line.includes("lost its lease"));
}

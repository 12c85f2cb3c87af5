import { silentLogger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import {
  type NotificationEvent,
  NotificationSettings,
  ProviderReaction,
  ProviderReaction_Kind,
  ProviderRelease,
  type Run,
  Run_Mode,
  Run_Phase,
  Run as RunMessage,
  StateObject,
  UpstreamVersion,
} from "@stackwright/proto/stackwright";
import { RegistryError } from "@stackwright/registry";
import { tenancyOf } from "@stackwright/storage";
import { expect, it, onTestFinished } from "vitest";
import { notificationSettingsPlace } from "../domain/notification-places.ts";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import type { ProviderStanding } from "../domain/registry-query.ts";
import { memberPlace, RUN_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { LiveView } from "../live/live-view.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { ProviderReactor } from "./provider-reactor.ts";

const OBJECT_KIND = recordKind("StateObject", StateObject);
const RELEASE_KIND = recordKind("PublishedRelease", ProviderRelease);
const UPSTREAM = "registry.example.com/acme/demo";
const OWN = "stackwright.example.com/team/net";
const PRIVATE = "huawei.com/private-provider/vault";
const { KIND_NOTIFY, KIND_PLAN, KIND_UNSPECIFIED } = ProviderReaction_Kind;

/** Stacks, and servers that react to what the registries of their account say. */
async function start() {
  const fixture = createRunFixture();
  const { parts, storage, put, tenancy, clock } = fixture;
  const destination = { id: "D", name: "ops", events: ["provider.changed"] };
  const settings = NotificationSettings.fromPartial({ destinations: [destination] });
  const project = { account: "acme", project: "web" };
  await put(SERVER_KINDS.notificationSettings, notificationSettingsPlace(project), settings);
  const inAccount = tenancyOf({ kind: "account", account: "acme" });
  const states = new Map<string, ProviderStanding["state"]>();
  return {
    ...fixture,
    /** What the registries say when they are asked. */
    states,
    /** A stack with a reaction of its own; without a kind it has that of the project. */
    stack: async (name: string, kind?: ProviderReaction_Kind): Promise<StackReference> => {
      const stack = await fixture.stack(name);
      await transact(parts, async (tx) => {
        tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
      });
      if (kind === undefined) return stack;
      const reaction = ProviderReaction.create({ stackName: name, kind, actor: "ann" });
      await put(SERVER_KINDS.providerReaction, stackPlace(stack), reaction);
      return stack;
    },
    /** Records what the configuration of a stack that was applied last says of a provider. */
    allows: async (stack: StackReference, source: string, versions: string): Promise<void> => {
      await transact(parts, async (tx) => {
        const providerConstraints = [{ source, versions }];
        tx.update(await readQueue(tx, stack), { providerConstraints });
      });
    },
    /** Records a run that was applied: one of a server has a number, one of a command has none. */
    ran: async (stack: StackReference, given: Partial<Run>): Promise<void> => {
      const id = parts.token();
      const isOfServer = given.number !== undefined;
      const run = RunMessage.fromPartial({
        id,
        stack: stack.stack,
        phase: Run_Phase.PHASE_APPLIED,
        ...(isOfServer && { mode: Run_Mode.MODE_APPLY }),
        ...given,
      });
      await put(RUN_KIND, memberPlace(stack, id), run);
    },
    /** Says what follows for the stacks of the project that say nothing themselves. */
    projectSays: async (providerReaction: ProviderReaction_Kind): Promise<void> => {
      const rules = { ...defaultProject("web"), providerReaction };
      await put(SERVER_KINDS.project, projectPlace(project), rules);
    },
    uses: async (stack: StackReference, source: string, version: string, name = "a") => {
      const provider = { source, version };
      const object = StateObject.fromPartial({ address: `d.${name}`, provider });
      await put(OBJECT_KIND, memberPlace(stack, name), object);
    },
    quarantine: async (version: string, quarantinedAtMs: bigint) => {
      const place = { tenancy: inAccount, name: `${UPSTREAM}/${version}` };
      const message = UpstreamVersion.create({ quarantinedAtMs });
      await put(SERVER_KINDS.upstreamVersion, place, message);
    },
    release: async (version: string, change: Partial<ProviderRelease> = {}) => {
      const of = { namespace: "team", type: "net", version, ...change };
      const place = { tenancy: inAccount, name: `team/net/${version}` };
      await put(RELEASE_KIND, place, ProviderRelease.create(of));
    },
    serve: async (): Promise<void> => {
      const live = new LiveView({ storage, logger: silentLogger, clock });
      const reactor = new ProviderReactor({
        ...parts,
        logger: silentLogger,
        live,
        namespaces: new Map(),
        servedHosts: () => ["stackwright.example.com"],
        findStanding: async (_account, address, version) => {
          const state = states.get(`${address.toString()} ${version}`) ?? "usable";
          return { state, sinceMs: 0, reason: "" };
        },
        findProvider: async () => {
          throw new RegistryError("REGISTRY_VERSION_NOT_FOUND");
        },
      });
      onTestFinished(async () => {
        await reactor[Symbol.asyncDispose]();
        live[Symbol.dispose]();
      });
      await live.stackChanges.whenSynced();
    },
    /** What destinations are sent, in order. */
    events: async (): Promise<readonly string[]> => {
      // Servers that were in each other's way wait by this clock.
      await clock.advance(50);
      const found = await storage.list("strong", SERVER_KINDS.notificationEvent.type, tenancy, "");
      return found
        .map((one): NotificationEvent => decodeRecord(SERVER_KINDS.notificationEvent, one))
        .map(({ provider, providerVersion, providerChange }) =>
          [provider, providerVersion, providerChange].join(" "),
        );
    },
    runs: async (): Promise<readonly Run[]> => {
      const found = await storage.list("strong", RUN_KIND.type, tenancy, "");
      return found.map((one): Run => decodeRecord(RUN_KIND, one));
    },
    reactionOf: async (stack: StackReference): Promise<ProviderReaction> => {
      const id = idOf(SERVER_KINDS.providerReaction, stackPlace(stack));
      return decodeRecord(SERVER_KINDS.providerReaction, await storage.read("strong", id));
    },
  };
}

it("a quarantine is reported once for each stack that uses the version and reacts, however many servers see it", async () => {
  const { stack, uses, states, quarantine, serve, events, runs } = await start();
  await uses(await stack("one", KIND_NOTIFY), UPSTREAM, "1.1.0");
  await uses(await stack("two", KIND_NOTIFY), UPSTREAM, "1.1.0");
  await uses(await stack("other", KIND_NOTIFY), UPSTREAM, "1.2.0");
  await uses(await stack("silent", KIND_UNSPECIFIED), UPSTREAM, "1.1.0");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined");
  await serve();
  await serve();
  await quarantine("1.1.0", 5n);
  const event = `${UPSTREAM} 1.1.0 quarantined`;
  await expect.poll(events, { interval: 2 }).toEqual([event, event]);
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(2);
  expect(await runs()).toEqual([]);
});

it("two servers make one run that only plans, where the stack asks for one", async () => {
  const { stack, uses, states, quarantine, serve, events, runs, reactionOf } = await start();
  const one = await stack("one", KIND_PLAN);
  await uses(one, UPSTREAM, "1.1.0");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined");
  await serve();
  await serve();
  await quarantine("1.1.0", 5n);
  await expect.poll(events, { interval: 2 }).toHaveLength(1);
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(1);
  const [run, ...others] = await runs();
  expect(others).toEqual([]);
  expect(run).toMatchObject({
    cause: `provider:quarantined:${UPSTREAM}@1.1.0`,
    mode: Run_Mode.MODE_PLAN_ONLY,
    background: true,
    automatic: true,
    actor: "ann",
  });
  expect((await reactionOf(one)).notices).toMatchObject([{ version: "1.1.0", run: run?.id }]);
});

it("stacks without a reaction of their own have that of the project, once for each however many servers see it", async () => {
  const { stack, uses, states, quarantine, serve, events, runs, projectSays, reactionOf } =
    await start();
  const one = await stack("one");
  await uses(one, UPSTREAM, "1.1.0");
  await uses(await stack("silent", KIND_UNSPECIFIED), UPSTREAM, "1.1.0");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined");
  await serve();
  await serve();
  await quarantine("1.1.0", 5n);
  for (let round = 0; round < 10; round += 1) expect(await events()).toEqual([]);
  await projectSays(KIND_PLAN);
  await expect.poll(events, { interval: 2 }).toEqual([`${UPSTREAM} 1.1.0 quarantined`]);
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(1);
  const found = await runs();
  expect(found).toMatchObject([{ stack: one.stack, actor: "providers" }]);
  const noted = await reactionOf(one);
  expect(noted).toMatchObject({ stackName: "one", inherits: true });
  expect(noted.notices).toMatchObject([{ version: "1.1.0", run: found[0]?.id }]);
});

it("what was noted stays where a stack goes back to the reaction of its project", async () => {
  const { stack, uses, states, quarantine, serve, events, projectSays, reactionOf, put } =
    await start();
  const one = await stack("one", KIND_NOTIFY);
  await uses(one, UPSTREAM, "1.1.0", "a");
  await uses(one, UPSTREAM, "1.2.0", "b");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined").set(`${UPSTREAM} 1.2.0`, "quarantined");
  await serve();
  await quarantine("1.1.0", 5n);
  await expect.poll(events, { interval: 2 }).toHaveLength(1);
  const back = { ...(await reactionOf(one)), kind: KIND_UNSPECIFIED, inherits: true };
  await put(SERVER_KINDS.providerReaction, stackPlace(one), back);
  await quarantine("1.2.0", 6n);
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(1);
  await projectSays(KIND_NOTIFY);
  const both = [`${UPSTREAM} 1.1.0 quarantined`, `${UPSTREAM} 1.2.0 quarantined`];
  await expect.poll(events, { interval: 2 }).toEqual(both);
  expect((await reactionOf(one)).notices).toHaveLength(2);
});

it("a run that waits covers what changes meanwhile", async () => {
  const { stack, uses, states, quarantine, serve, events, runs } = await start();
  const one = await stack("one", KIND_PLAN);
  await uses(one, UPSTREAM, "1.1.0", "a");
  await uses(one, UPSTREAM, "1.2.0", "b");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined").set(`${UPSTREAM} 1.2.0`, "quarantined");
  await serve();
  await quarantine("1.1.0", 5n);
  await expect.poll(events, { interval: 2 }).toHaveLength(1);
  await quarantine("1.2.0", 6n);
  await expect.poll(events, { interval: 2 }).toHaveLength(2);
  expect(await runs()).toHaveLength(1);
});

it("a version that comes and goes is reported again after ten minutes alone", async () => {
  const { stack, uses, states, quarantine, serve, events, clock } = await start();
  const one = await stack("one", KIND_NOTIFY);
  await uses(one, UPSTREAM, "1.1.0");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined");
  await serve();
  await quarantine("1.1.0", 5n);
  await expect.poll(events, { interval: 2 }).toHaveLength(1);
  for (const atMs of [6n, 7n, 8n]) {
    await quarantine("1.1.0", 0n);
    await quarantine("1.1.0", atMs);
    for (let round = 0; round < 5; round += 1) expect(await events()).toHaveLength(1);
  }
  await clock.advance(10 * 60_000);
  await quarantine("1.1.0", 9n);
  await expect.poll(events, { interval: 2 }).toHaveLength(2);
});

it("a stack hears of a version that is deprecated and then withdrawn, and of no other provider of its name", async () => {
  const { stack, uses, states, release, serve, events } = await start();
  await release("1.0.0");
  await uses(await stack("one", KIND_NOTIFY), OWN, "1.0.0");
  await uses(await stack("other", KIND_NOTIFY), "registry.example.com/team/net", "1.0.0");
  await serve();
  await release("1.0.0", { deprecation: "use 2.0.0" });
  await expect.poll(events, { interval: 2 }).toEqual([`${OWN} 1.0.0 deprecated`]);
  states.set(`${OWN} 1.0.0`, "withdrawn");
  await release("1.0.0", { withdrawn: true, withdrawTimeMs: 7n });
  const both = [`${OWN} 1.0.0 deprecated`, `${OWN} 1.0.0 withdrawn`];
  await expect.poll(events, { interval: 2 }).toEqual(both);
});

it.each([PRIVATE, "stackwright.example.com/private-provider/vault"])(
  "a stack hears of a version of the private provider %s that is in the registry no longer",
  async (source) => {
    const { stack, uses, serve, events } = await start();
    await serve();
    await uses(await stack("one", KIND_NOTIFY), source, "1.0.0");
    await expect.poll(events, { interval: 2 }).toEqual([`${source} 1.0.0 deleted`]);
  },
);

it("a stack hears of the newest version that is newer than all that it uses", async () => {
  const { stack, uses, release, serve, events } = await start();
  const one = await stack("one", KIND_NOTIFY);
  await uses(one, OWN, "1.0.0", "a");
  await uses(one, OWN, "1.10.0", "b");
  await serve();
  for (const version of ["1.9.0", "2.0.0-rc1", "1.10.0"]) await release(version);
  await release("1.11.0");
  await expect.poll(events, { interval: 2 }).toEqual([`${OWN} 1.11.0 published`]);
});

it("a stack hears of the newest version that its configuration allows, and of what becomes of the one that it uses in any case", async () => {
  const { stack, uses, allows, release, states, serve, events } = await start();
  const [pinned, bounded, open] = [
    await stack("pinned", KIND_NOTIFY),
    await stack("bounded", KIND_NOTIFY),
    await stack("open", KIND_NOTIFY),
  ];
  for (const one of [pinned, bounded, open]) await uses(one, OWN, "1.0.0");
  await allows(pinned, OWN, "= 1.0.0");
  await allows(bounded, OWN, "~> 1.0");
  await allows(open, UPSTREAM, "= 1.0.0");
  await serve();
  await release("1.1.0");
  const minor = `${OWN} 1.1.0 published`;
  await expect.poll(events, { interval: 2 }).toEqual([minor, minor]);
  await release("2.0.0");
  const major = `${OWN} 2.0.0 published`;
  await expect.poll(events, { interval: 2 }).toEqual([minor, minor, major]);
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(3);
  states.set(`${OWN} 1.0.0`, "withdrawn");
  await release("1.0.0", { withdrawn: true, withdrawTimeMs: 7n });
  await expect.poll(events, { interval: 2 }).toHaveLength(6);
  // With the next configuration that is applied, what it allows is heard of at once.
  await allows(pinned, OWN, ">= 1.0.0");
  await expect.poll(async () => (await events()).at(-1), { interval: 2 }).toBe(major);
  expect(await events()).toHaveLength(7);
});

it("a stack that a command has applied after the last run of a server hears of every newer version, until a run applies it again", async () => {
  const { stack, uses, allows, ran, release, serve, events } = await start();
  const [held, left] = [await stack("held", KIND_NOTIFY), await stack("left", KIND_NOTIFY)];
  for (const one of [held, left]) {
    await uses(one, OWN, "1.0.0");
    await allows(one, OWN, "= 1.0.0");
    await ran(one, { number: 1n, revision: 1n });
  }
  // A command that changed nothing says nothing of what was applied.
  await ran(held, { revision: 1n, phase: Run_Phase.PHASE_NO_CHANGES });
  await ran(left, { revision: 2n });
  await serve();
  await release("1.1.0");
  await expect.poll(events, { interval: 2 }).toEqual([`${OWN} 1.1.0 published`]);
  await ran(left, { number: 2n, revision: 3n });
  await release("1.2.0");
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(1);
});

it("what becomes of a version concerns no stack that uses another one", async () => {
  const { stack, uses, states, release, quarantine, serve, events } = await start();
  await release("1.0.0");
  await release("1.1.0");
  await uses(await stack("older", KIND_NOTIFY), OWN, "1.0.0");
  await uses(await stack("newer", KIND_NOTIFY), OWN, "1.1.0");
  await uses(await stack("mirrored", KIND_NOTIFY), UPSTREAM, "1.0.0");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined");
  await serve();
  const newer = `${OWN} 1.1.0 published`;
  await expect.poll(events, { interval: 2 }).toEqual([newer]);
  await quarantine("1.1.0", 5n);
  await release("1.0.0", { deprecation: "use 1.1.0" });
  const deprecated = `${OWN} 1.0.0 deprecated`;
  await expect.poll(events, { interval: 2 }).toEqual([newer, deprecated]);
  states.set(`${OWN} 1.0.0`, "withdrawn");
  await release("1.0.0", { withdrawn: true, withdrawTimeMs: 7n });
  await expect.poll(events, { interval: 2 }).toEqual([newer, deprecated, `${OWN} 1.0.0 withdrawn`]);
  for (let round = 0; round < 10; round += 1) expect(await events()).toHaveLength(3);
});

it("what happened while no server was there is caught up with", async () => {
  const { stack, uses, states, quarantine, serve, events } = await start();
  await uses(await stack("one", KIND_NOTIFY), UPSTREAM, "1.1.0");
  states.set(`${UPSTREAM} 1.1.0`, "quarantined");
  await quarantine("1.1.0", 5n);
  await serve();
  await expect.poll(events, { interval: 2 }).toHaveLength(1);
});

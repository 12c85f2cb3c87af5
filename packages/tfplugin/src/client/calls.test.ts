import { Type, Value } from "@stackwright/cty";
import type { LifecycleProvider } from "@stackwright/mux/router";
import * as t6 from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
import {
  bytes,
  clientOf,
  ERROR,
  IDENTITY,
  NONE,
  planRequest,
  THING,
  TYPE,
  text,
  UNKNOWN,
  utf8,
} from "../testing/lab-fixture.ts";
import { valueFromWire, valueToWire } from "../wire/dynamic-value.ts";

describe("the other calls", () => {
  it("read says what is there, also that it is gone", async () => {
    const request = {
      type: "lab_thing",
      state: THING,
      privateBytes: bytes(1),
      identity: Value.object({ key: text("a") }),
      deferralAllowed: true,
    };
    const there = clientOf({
      read: ({ private: echoed, currentIdentity }) =>
        t6.ReadResource_Response.fromPartial({
          newState: valueToWire(THING, TYPE),
          private: echoed,
          newIdentity: currentIdentity ?? {},
          deferred: { reason: 3 },
        }),
    });
    const reply = await there.client.read(request, {});
    expect(reply).toMatchObject({ deferred: { reason: "absent_prereq" }, diagnostics: [] });
    expect(reply.state?.rawEquals(THING)).toBe(true);
    expect([...(reply.privateBytes ?? [])]).toEqual([1]);
    expect(reply.identity?.rawEquals(request.identity)).toBe(true);
    const gone = clientOf({
      read: () => t6.ReadResource_Response.fromPartial({ private: bytes(1) }),
    });
    expect((await gone.client.read(request, {})).state?.isNull).toBe(true);
    const failing = clientOf({
      read: () => t6.ReadResource_Response.fromPartial({ diagnostics: [ERROR] }),
    });
    expect(await failing.client.read(request, {})).not.toHaveProperty("state");
  });

  it("plan says what forces replacement, and refuses a deferral that was not allowed", async () => {
    const { client } = clientOf({
      plan: () =>
        t6.PlanResourceChange_Response.fromPartial({
          plannedState: valueToWire(UNKNOWN, TYPE),
          requiresReplace: [
            { steps: [{ selector: { $case: "attributeName", value: "n" } }] },
            { steps: [] },
          ],
          legacyTypeSystem: true,
          deferred: { reason: 1 },
        }),
    });
    const reply = await client.plan(planRequest, {});
    expect(reply.requiresReplace.map(String)).toEqual([".n"]);
    expect(reply.legacyTypeSystem).toBe(true);
    expect(reply.diagnostics).toMatchObject([{ severity: "error" }]);
    const allowed = await client.plan({ ...planRequest, deferralAllowed: true }, {});
    expect(allowed).toMatchObject({
      diagnostics: [],
      deferred: { reason: "resource_config_unknown" },
    });
  });

  it("upgrade drops what the schema does not have any more, and refuses newer objects", async () => {
    const { client, transport } = clientOf({
      upgradeState: () =>
        t6.UpgradeResourceState_Response.fromPartial({ upgradedState: valueToWire(THING, TYPE) }),
    });
    const request = { type: "lab_thing", json: '{"id":"1","old":{"x":[1]},\n "n":1.50}' };
    await client.upgrade({ ...request, schemaVersion: 2 }, {});
    await client.upgrade({ ...request, schemaVersion: 1 }, {});
    const sent = transport
      .requests("upgradeState")
      .map(({ version, rawState }) => [version, new TextDecoder().decode(rawState?.json)]);
    expect(sent).toEqual([
      [2n, '{"id":"1","n":1.50}'],
      [1n, request.json],
    ]);
    const newer = await client.upgrade({ ...request, schemaVersion: 3 }, {});
    expect(newer.diagnostics).toMatchObject([{ severity: "error" }]);
    expect(transport.requests("upgradeState")).toHaveLength(2);
    await expect(
      client.upgrade({ type: "lab_thing", json: "{", schemaVersion: 2 }, {}),
    ).rejects.toMatchObject({ code: "TFPLUGIN_VALUE_INVALID" });
  });

  it("upgrade brings the identity of an object along, where there is one", async () => {
    const key = Value.object({ key: text("new") });
    const { client, transport } = clientOf({
      upgradeState: () =>
        t6.UpgradeResourceState_Response.fromPartial({ upgradedState: valueToWire(THING, TYPE) }),
      upgradeIdentity: () =>
        t6.UpgradeResourceIdentity_Response.fromPartial({
          upgradedIdentity: { identityData: valueToWire(key, IDENTITY) },
        }),
    });
    const request = { type: "lab_thing", json: "{}", schemaVersion: 2 };
    const stored = (schemaVersion: number) => ({ schemaVersion, json: '{"key":"old"}' });
    const upgraded = await client.upgrade({ ...request, identity: stored(0) }, {});
    expect(upgraded.identity?.rawEquals(key)).toBe(true);
    expect(transport.requests("upgradeIdentity")).toMatchObject([
      { typeName: "lab_thing", version: 0n, rawIdentity: { json: utf8('{"key":"old"}') } },
    ]);
    expect(await client.upgrade(request, {})).not.toHaveProperty("identity");
    const current = await client.upgrade({ ...request, identity: stored(1) }, {});
    expect(current.identity?.rawEquals(Value.object({ key: text("old") }))).toBe(true);
    const newer = await client.upgrade({ ...request, identity: stored(2) }, {});
    expect(newer.diagnostics).toMatchObject([{ severity: "error" }]);
    expect(transport.requests("upgradeIdentity")).toHaveLength(1);
  });

  it("move carries the source as it is stored", async () => {
    const { client, transport } = clientOf({
      moveState: () =>
        t6.MoveResourceState_Response.fromPartial({
          targetState: valueToWire(THING, TYPE),
          targetPrivate: bytes(8),
          targetIdentity: { identityData: valueToWire(Value.object({ key: text("k") }), IDENTITY) },
        }),
    });
    const reply = await client.move(
      {
        sourceProvider: "example.com/a/b",
        sourceType: "b_thing",
        source: { schemaVersion: 4, json: '{"a":1}' },
        sourcePrivate: bytes(6),
        targetType: "lab_thing",
      },
      {},
    );
    expect(reply.state?.rawEquals(THING)).toBe(true);
    expect(reply.identity?.isNull).toBe(false);
    expect([...(reply.privateBytes ?? [])]).toEqual([8]);
    expect(transport.requests("moveState")).toMatchObject([
      {
        sourceProviderAddress: "example.com/a/b",
        sourceSchemaVersion: 4n,
        sourceState: { json: utf8('{"a":1}') },
        sourcePrivate: bytes(6),
      },
    ]);
  });

  it("import gives several objects, by id or by identity", async () => {
    const imported = { typeName: "lab_thing", state: valueToWire(THING, TYPE), private: bytes(3) };
    const { client, transport } = clientOf({
      import: () =>
        t6.ImportResourceState_Response.fromPartial({ importedResources: [imported, imported] }),
    });
    const request = { type: "lab_thing", id: "x", deferralAllowed: false };
    const { objects } = await client.import(request, {});
    expect(objects.map(({ state }) => state.rawEquals(THING))).toEqual([true, true]);
    await client.import({ ...request, identity: Value.object({ key: text("k") }) }, {});
    const sent = transport.requests("import");
    expect(sent.map(({ id, identity }) => [id, identity === undefined])).toEqual([
      ["x", true],
      ["", false],
    ]);
  });

  it("data sources are read", async () => {
    const info = Type.object({ id: Type.string });
    const state = Value.object({ id: text("1") });
    const { client } = clientOf({
      readDataSource: () =>
        t6.ReadDataSource_Response.fromPartial({ state: valueToWire(state, info) }),
    });
    const request = { type: "lab_info", config: state, deferralAllowed: false };
    expect((await client.readDataSource(request, {})).state?.rawEquals(state)).toBe(true);
  });

  it("functions take as many arguments as they declare, of any type where they say so", async () => {
    const { client, transport } = clientOf({
      callFunction: ({ arguments: given }) =>
        given.length > 3
          ? { result: undefined, error: { text: "too many", functionArgument: 3n } }
          : { result: valueToWire(text("ok"), Type.string), error: undefined },
    });
    const args = [text(","), Value.number(1), Value.tuple([])];
    const reply = await client.callFunction({ name: "join", arguments: args }, {});
    expect("result" in reply && reply.result.asString()).toBe("ok");
    const sent = transport.requests("callFunction")[0]?.arguments[1];
    expect(valueFromWire(sent, Type.dynamic).rawEquals(Value.number(1))).toBe(true);
    const tooMany = { name: "join", arguments: [...args, Value.dynamic] };
    expect(await client.callFunction(tooMany, {})).toEqual({
      error: { text: "too many", argument: 3 },
    });
  });

  it("ephemeral resources are opened, renewed and closed with their private bytes", async () => {
    const lease = Type.object({ id: Type.string });
    const config = Value.object({ id: text("1") });
    const { client, transport } = clientOf({
      validateEphemeral: () => ({ diagnostics: [] }),
      openEphemeral: () =>
        t6.OpenEphemeralResource_Response.fromPartial({
          result: valueToWire(config, lease),
          renewAt: { seconds: 1_700_000_000n, nanos: 500_000_000 },
          private: bytes(1),
        }),
      renewEphemeral: () => t6.RenewEphemeralResource_Response.fromPartial({ private: bytes(2) }),
      closeEphemeral: () => ({ diagnostics: [] }),
    });
    const request = { type: "lab_lease", config, deferralAllowed: false };
    await client.validateEphemeral({ ...request, writeOnlyAllowed: false }, {});
    const opened = await client.openEphemeral(request, {});
    expect(opened).toMatchObject({ renewAtMs: 1_700_000_000_500 });
    expect(opened.result?.rawEquals(config)).toBe(true);
    const held = { type: "lab_lease", privateBytes: opened.privateBytes ?? NONE };
    const renewed = await client.renewEphemeral(held, {});
    expect(renewed).toEqual({ diagnostics: [], privateBytes: bytes(2) });
    await client.closeEphemeral({ ...held, privateBytes: bytes(2) }, {});
    expect(transport.requests("renewEphemeral")[0]?.private).toEqual(bytes(1));
    expect(transport.requests("closeEphemeral")[0]?.private).toEqual(bytes(2));
    expect(transport.requests("openEphemeral")[0]?.clientCapabilities).toMatchObject({
      writeOnlyAttributesAllowed: false,
    });
  });

  it("stop reports what the provider says, and does without where it cannot be stopped", async () => {
    const refusing = clientOf({ stop: () => ({ Error: "busy" }) }).client;
    await expect(refusing.stop({})).rejects.toMatchObject({ code: "TFPLUGIN_CALL_FAILED" });
    await clientOf({}).client.stop({});
  });

  it("close ends the transport", async () => {
    const { client, transport } = clientOf({});
    {
      await using _: LifecycleProvider = client;
    }
    expect(transport.closed).toBe(1);
  });
});

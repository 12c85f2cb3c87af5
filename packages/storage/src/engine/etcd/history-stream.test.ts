import { WatchResponse } from "@stackwright/proto/etcd";
import { Event, Event_EventType } from "@stackwright/proto/etcd/mvccpb";
import { expect, test } from "vitest";
import type { EtcdClient } from "./etcd-client.ts";
import { historyStream } from "./history-stream.ts";
import { Layout } from "./layout.ts";
import { endOfRevision, positionOf } from "./position.ts";

const HEADER = { clusterId: 1n, memberId: 1n, revision: 9n, raftTerm: 1n };
const progress = WatchResponse.create({ watchId: -1n, header: HEADER });
const created = WatchResponse.create({ created: true, header: HEADER });

/** Of a value that cannot be read, which is a commit all the same. */
function changesAt(...revisions: readonly bigint[]): WatchResponse {
  const events = revisions.map((modRevision) =>
    Event.create({
      type: Event_EventType.PUT,
      kv: { key: Buffer.from("k"), value: Buffer.from("?"), modRevision, createRevision: 1n },
    }),
  );
  return WatchResponse.create({ header: HEADER, events });
}

/** The positions of the commits, and the last position, that a member's answers give. */
async function read(...responses: readonly WatchResponse[]) {
  const client = {
    member: { watch: { watch: () => responses } },
    streamMetadata: async () => ({}),
    checkHeader: () => undefined,
  } as unknown as EtcdClient;
  const revisions: number[] = [];
  let last = 0;
  try {
    for await (const { commits, position } of historyStream({
      client,
      layout: new Layout("/"),
      epoch: "e",
      after: endOfRevision(6n),
      progressMs: 60_000,
      signal: new AbortController().signal,
    })) {
      revisions.push(...commits.map(({ revision }) => revision));
      last = position;
    }
  } catch (error) {
    expect(error).toMatchObject({ message: "the server ended the watch" });
  }
  return { revisions, last };
}

test("how far a member has come counts from when the watch is announced", async () => {
  expect(await read(progress, created, changesAt(8n, 9n))).toEqual({
    revisions: [positionOf(8n, 0), positionOf(9n, 0)],
    last: positionOf(9n, 0),
  });
});

test("changes up to what a member has said it has sent are left out", async () => {
  expect(await read(created, changesAt(8n), progress, changesAt(8n, 9n))).toEqual({
    revisions: [positionOf(8n, 0)],
    last: endOfRevision(9n),
  });
});

import type { Logger } from "@stackwright/base/logger";
import { RunTrigger } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { memberPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { finishDeletion } from "../stack-deletion/stack-deletion.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { listTriggers } from "./trigger-graph.ts";

const KIND = SERVER_KINDS.trigger;

it("a damaged trigger is named in the log, and keeps neither the others nor deletions of stacks", async () => {
  const decayed = new Set<string>();
  const storage = decayedStore(createMemoryStorage(), ({ name }) => decayed.has(name));
  const { parts, put, stack, damage } = createRunFixture(storage);
  const producer = await stack("producer");
  const consumer = await stack("consumer");
  const place = (id: string) => memberPlace(consumer, id);
  for (const id of ["one", "two", "three"]) {
    const { stack: name, project: producerProject } = producer;
    await put(KIND, place(id), RunTrigger.create({ id, producer: name, producerProject }));
  }
  await damage(KIND, place("two"));
  decayed.add(place("three").name);
  const lines: unknown[] = [];
  const logger = { warn: (fields: unknown) => lines.push(fields) } as unknown as Logger;
  const triggers = await listTriggers({ storage, logger }, producer.account);
  expect(triggers.map(({ message }) => message.id)).toEqual(["one"]);
  expect(lines).toMatchObject([
    { kind: "RunTrigger", name: place("three").name },
    { kind: "RunTrigger", name: place("two").name },
  ]);
  await finishDeletion({ ...parts, logger }, producer);
  expect(await listTriggers({ storage }, producer.account)).toEqual([]);
});

import type { LiveView } from "../../live/live-view.ts";
import type { NamedResource } from "../../live/resource-rings.ts";
import type { Topic, TopicItem } from "./topic.ts";

const PREFIX = "resources:";

/** Whether a topic tells of one stack and no other, so that those may follow it as well who see some stacks alone. */
export function isOfOneStack(topic: string): boolean {
  return topic.startsWith(PREFIX);
}

/**
 * Finds the topic `resources:PROJECT/STACK` of an account: the recorded objects of the stack that the name stands for at the time,
 * none where there is no such stack.
 */
export function openResourceTopics(live: LiveView): (name: string, account: string) => Topic {
  const items = new WeakMap<NamedResource, TopicItem>();
  const itemOf = (named: NamedResource): TopicItem => {
    let item = items.get(named);
    if (item === undefined) {
      const { account, project, name: stack } = named.stack;
      const id = idOf(named);
      let text: string | undefined;
      item = {
        account,
        project,
        stack,
        id,
        get text() {
          return (text ??= JSON.stringify(viewOf(named, id)));
        },
      };
      items.set(named, item);
    }
    return item;
  };
  return (name, account) => {
    // Who never asks for objects does not have them read.
    const { all, rings, listed } = live.resources;
    const place = `${account}/${name.slice(PREFIX.length)}`;
    return {
      name,
      snapshot: () => {
        const { revision, objects } = rings.snapshot(place);
        return { revision, items: objects.map(itemOf) };
      },
      after: (from, limit) =>
        rings
          .after(place, from)
          ?.slice(0, limit)
          .map(({ revision, set, deleted }) => ({
            revision,
            set: set.map(itemOf),
            deleted: deleted.map(itemOf),
          })),
      whenSynced: async (options) => all.whenSynced(options),
      listed,
      changed: async (signal) => rings.changed(place, signal),
    };
  };
}

/** Unique among the objects of the stack: what is behind the key of the stack in that of the object. */
function idOf({ resource }: NamedResource): string {
  return resource.key.slice(resource.stack.length + 1);
}

function viewOf({ stack, resource }: NamedResource, id: string): object {
  const { address, deposed, type, isData, phase, provider, providerVersion } = resource;
  return {
    id,
    project: stack.project,
    stack: stack.name,
    address,
    ...(deposed !== "" && { deposed }),
    type,
    data: isData,
    phase,
    provider,
    provider_version: providerVersion,
  };
}

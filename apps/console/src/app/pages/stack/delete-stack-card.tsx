import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Loaded } from "../../parts/states.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";
import { DeleteStackDialog } from "./delete-stack-dialog.tsx";
import { stateQuery } from "./stack-queries.ts";

/** Deletes the stack. The objects that it has stay in place, which is said before. */
export function DeleteStackCard() {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const [isOpen, setOpen] = useState(false);
  const query = useQuery(stateQuery(client, place));
  const isAllowed = mayDo(caller, "admin", place.project);
  return (
    <section className="card" aria-labelledby="delete">
      <h2 id="delete">Delete</h2>
      <p className="quiet">
        Deletes the stack with its runs, state, variables and settings. It destroys no object: a
        destroy run does.
      </p>
      <Loaded query={query} what="objects of the stack">
        {({ resources }) => {
          const objects = resources.length;
          return (
            <>
              <p>
                {objects === 0
                  ? "The engine has recorded no objects of this stack."
                  : `This stack has ${objects} ${objects === 1 ? "object" : "objects"}.`}
              </p>
              <button
                type="button"
                className="danger"
                disabled={!isAllowed}
                title={isAllowed ? undefined : "This needs the role registry:admin."}
                onClick={() => setOpen(true)}
              >
                Delete the stack…
              </button>
              {isOpen && <DeleteStackDialog objects={objects} onClose={() => setOpen(false)} />}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

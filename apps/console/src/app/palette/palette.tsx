import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  type KeyboardEvent,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { placesFor, placesInSettings } from "../places.ts";
import { useServer } from "../session/server-context.tsx";
import { paletteItems, resourceItems } from "./palette-items.ts";

/** Characters from which on the server searches resources: fewer are in most of them. */
const MIN_SEARCH = 3;

/** Leads to any page by typing a part of its name. It changes nothing by itself. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const { client, stacks: store, caller } = useServer();
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  const navigate = useNavigate();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const wanted = useDeferredValue(text.trim());
  const resources = useQuery({
    queryKey: ["search", wanted],
    queryFn: async ({ signal }) =>
      (await client.searchResources({ q: wanted, limit: 20 }, { signal })).data,
    enabled: wanted.length >= MIN_SEARCH,
    placeholderData: keepPreviousData,
  });
  const found = wanted.length >= MIN_SEARCH ? resources.data : undefined;
  const items = useMemo(
    () => [
      ...paletteItems(text, stacks, [...placesFor(caller), ...placesInSettings(caller)]),
      ...resourceItems(found?.resources ?? []),
    ],
    [text, stacks, found, caller],
  );
  useEffect(() => {
    const { current } = dialog;
    if (current !== null && !current.open) current.showModal();
  }, []);
  const open = (index: number): void => {
    const item = items[index];
    if (item === undefined) return;
    dialog.current?.close();
    void navigate({ to: item.to, search: item.search ?? {} });
  };
  const onKey = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      setActive((active + move + items.length) % Math.max(1, items.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(active);
    }
  };
  return (
    <dialog ref={dialog} className="palette" aria-label="Search" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-items"
        aria-activedescendant={items.length > 0 ? `palette-${active}` : undefined}
        aria-label="Search pages, stacks, runs and resources"
        placeholder="Search pages, stacks, runs and resources"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-items" role="listbox" aria-label="Results">
        {items.map(({ label, hint, to }, index) => (
          <li
            key={`${to}${label}${hint}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => open(index)}
            onMouseMove={() => setActive(index)}
          >
            <span>{label}</span>
            <span className="quiet">{hint}</span>
          </li>
        ))}
      </ul>
      {items.length === 0 && !resources.isFetching && (
        <p className="quiet">Nothing is called so.</p>
      )}
      {found?.more === true && (
        <p className="quiet">More resources match; type more of the address.</p>
      )}
    </dialog>
  );
}

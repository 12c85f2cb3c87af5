import { useNavigate } from "@tanstack/react-router";
import {
  type KeyboardEvent,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useServer } from "../session/server-context.tsx";
import { paletteItems } from "./palette-items.ts";

/** Leads to any page by typing a part of its name. It changes nothing by itself. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const { stacks: store } = useServer();
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  const navigate = useNavigate();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const items = useMemo(() => paletteItems(text, stacks), [text, stacks]);
  useEffect(() => {
    const { current } = dialog;
    if (current !== null && !current.open) current.showModal();
  }, []);
  const open = (index: number): void => {
    const item = items[index];
    if (item === undefined) return;
    dialog.current?.close();
    void navigate({ to: item.to });
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
        aria-label="Search pages, stacks and runs"
        placeholder="Search pages, stacks and runs"
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
            key={`${to}${label}`}
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
      {items.length === 0 && <p className="quiet">Nothing is called so.</p>}
    </dialog>
  );
}

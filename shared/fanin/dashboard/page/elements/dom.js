// Elements as values, and `patch`, which writes them into the page and touches only what differs. So focus, scroll,
// open details and half-typed input survive a poll. Text becomes a text node; nothing is ever parsed as markup.

const isShown = (kid) => kid !== null && kid !== undefined && kid !== false && kid !== "";

// h(tag, props, ...kids) describes an element. Props: attributes; `on...` handlers; `key`, which identifies it among
// its siblings; `after`, called with the element each time it was written.
export const h = (tag, props, ...kids) => ({ tag, props: props ?? {}, kids });

const shown = (kids) =>
  kids
    .flat(Infinity)
    .filter(isShown)
    .map((kid) => (typeof kid === "object" ? kid : String(kid)));

const written = new WeakMap(); // element -> its description

export function patch(parent, described) {
  const kids = shown(described);
  const keys = new Set(kids.map((kid) => kid.props?.key).filter(isShown));
  for (const node of [...parent.childNodes]) {
    const key = written.get(node)?.props.key;
    if (isShown(key) && !keys.has(key)) node.remove();
  }
  let at = parent.firstChild;
  for (const kid of kids) {
    const node = fitting(at, kid) ?? made(kid);
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
    write(node, kid);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const made = (kid) =>
  typeof kid === "string" ? document.createTextNode("") : document.createElement(kid.tag);

function fitting(at, kid) {
  if (typeof kid === "string") return at?.nodeType === Node.TEXT_NODE ? at : undefined;
  const fits = (node) => written.get(node)?.tag === kid.tag && written.get(node).props.key === kid.props.key;
  if (!isShown(kid.props.key)) return at && fits(at) ? at : undefined;
  let node = at;
  while (node && !fits(node)) node = node.nextSibling;
  return node ?? undefined;
}

function write(node, kid) {
  if (typeof kid === "string") {
    if (node.data !== kid) node.data = kid;
    return;
  }
  patch(node, kid.kids);
  const before = written.get(node)?.props ?? {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(kid.props)])) {
    if (before[name] !== kid.props[name]) assign(node, name, kid.props[name]);
  }
  written.set(node, kid);
  kid.props.after?.(node);
}

const AS_PROPERTY = new Set(["value", "checked", "disabled"]);

function assign(node, name, value) {
  if (name === "key" || name === "after") return;
  if (name.startsWith("on")) node[name] = value ?? null;
  else if (AS_PROPERTY.has(name) && name in node && node.localName !== "progress") node[name] = value ?? "";
  else if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

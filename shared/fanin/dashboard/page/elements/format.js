// Numbers and times as text. Counts are exact up to 2^53; the largest batch has 2^40 items.

const grouped = new Intl.NumberFormat("en");
export const count = (value) => (Number.isFinite(value) ? grouped.format(value) : "–");

// Rounded down: 100 % means all of them.
export function percent(part, all) {
  if (!all) return "–";
  if (part >= all) return "100 %";
  const tenths = Math.floor((part * 1000) / all);
  return tenths === 0 && part > 0 ? "under 0.1 %" : `${(tenths / 10).toFixed(1)} %`;
}

export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size < 90) return `${Math.round(size)} s`;
  if (size < 5400) return `${Math.round(size / 60)} min`;
  return size < 129600 ? `${Math.round(size / 3600)} h` : `${Math.round(size / 86400)} d`;
}

export function ago(text) {
  const seconds = (Date.now() - Date.parse(text)) / 1000;
  if (Number.isNaN(seconds)) return text;
  return seconds < 0 ? `in ${duration(seconds)}` : `${duration(seconds)} ago`;
}

const two = (value) => String(value).padStart(2, "0");

export function zone(at = new Date()) {
  const minutes = -at.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

// A time of this browser's zone, with the zone's name in numbers.
export function absolute(text) {
  const at = new Date(text);
  return Number.isNaN(at.valueOf()) ? text : `${day(at)} ${clock(at)} ${zone(at)}`;
}

// The value of an input of type datetime-local, from and to RFC 3339.
export const toInput = (text) => (text ? absolute(text).slice(0, 16).replace(" ", "T") : "");
export const fromInput = (text) => (text ? new Date(text).toISOString().replace(".000Z", "Z") : "");

export function rate(perSecond) {
  return perSecond > 0 && perSecond < 10 ? `${perSecond.toFixed(1)}/s` : `${count(Math.round(perSecond))}/s`;
}

export const short = (id) => (id.length > 12 ? `${id.slice(0, 8)}…` : id);

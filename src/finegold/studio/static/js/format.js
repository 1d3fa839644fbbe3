// Format numbers and times for display.

export const number = (value) => Number(value).toLocaleString("en");

export function count(value, thing, plural = `${thing}s`) {
  return `${number(value)} ${value === 1 ? thing : plural}`;
}

// Never round to 100 % unless it is exactly that.
export function percent(share, digits = 1) {
  const text = (100 * share).toFixed(digits);
  if (share < 1 && Number(text) >= 100) return `>${(100 - 10 ** -digits).toFixed(digits)} %`;
  if (share > 0 && Number(text) <= 0) return `<${(10 ** -digits).toFixed(digits)} %`;
  return `${text} %`;
}

export function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < 3) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function seconds(value) {
  if (value < 1) return `${Math.max(1, Math.round(1000 * value))} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value / 60)} min`;
}

export function ago(when) {
  const passed = (Date.now() - new Date(when).getTime()) / 1000;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${count(Math.floor(passed / 60), "minute")} ago`;
  if (passed < 86400) return `${count(Math.floor(passed / 3600), "hour")} ago`;
  return new Date(when).toLocaleDateString();
}

export const signed = (value, digits = 1) => `${value > 0 ? "+" : ""}${value.toFixed(digits)}`;

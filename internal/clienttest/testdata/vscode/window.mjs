// What the drivers of our extension share: a window of VS Code as a page of a browser,
// the moves of a person in it, and a log of steps. Each step looks at the screen; one
// that does not see what it wants ends the story.
import fs from 'node:fs'
import { createRequire } from 'node:module'

const { CLIENT_MODULES, CHROMIUM, URL, SHOTS, DIR } = process.env
const { chromium } = createRequire(CLIENT_MODULES + '/')('playwright-core')
const [{ name: story, width = 1280 }] = JSON.parse(process.env.STORIES)

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
    '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost']
})
const context = await browser.newContext({ viewport: { width, height: 800 } })

/** requests to hosts that an answer names, and that nobody may ask */
export const outside = new Set()

/** window opens a window on the workspace. */
export async function window () {
  const page = await context.newPage()
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 120) * 1000) // the machine may be busy
  await page.addInitScript(() => {
    window.clicks = 0
    document.addEventListener('mousedown', () => { window.clicks++ }, true)
  })
  page.on('request', (r) => { if (/tracker/.test(r.url())) outside.add(r.url()) })
  await page.goto(URL)
  await page.waitForSelector('.monaco-workbench')
  return page
}
export let page = await window()

/** look has all that follows happen in another window. */
export function look (at) { page = at }

let shots = 0

/** shot takes a picture; at the end of a step also one of the other width, which closes what is open for a moment. */
export async function shot (name, also) {
  if (!SHOTS) return
  const number = String(++shots).padStart(2, '0')
  for (const w of also ? [also, width] : [width]) {
    await page.setViewportSize({ width: w, height: 800 })
    await page.waitForTimeout(400)
    await page.screenshot({ path: `${SHOTS}/${story}-${number}-${name}-${w}.png` })
  }
}

/** quick opens the box for quick input; a key is lost where the focus is on its way. */
async function quick (key) {
  const box = page.locator('.quick-input-widget input').first()
  for (let tries = 0; tries < 10 && !await box.isVisible(); tries++) {
    await page.keyboard.press(key)
    await box.waitFor({ timeout: 5000 }).catch(() => {})
  }
  await box.waitFor()
}

export async function command (title) {
  const row = page.locator(`.quick-input-list .monaco-list-row:has-text("${title}")`).first()
  for (let tries = 0; tries < 5; tries++) { // a list that is opened while VS Code starts does not get what comes later
    await quick('F1')
    await page.keyboard.type(title)
    if (await row.waitFor({ timeout: 20000 }).then(() => true, () => false)) break
    await page.keyboard.press('Escape')
  }
  await down(`.quick-input-list .monaco-list-row.focused .label-name`, (text) => text.replaceAll('\u00a0', ' ') === title)
  await page.keyboard.press('Enter')
}

/** down goes down a list until the focused row is the one that is looked for. */
export async function down (focused, is) {
  for (let tries = 0; tries < 60; tries++) {
    const row = page.locator(focused).first()
    if (await row.count() > 0 && is(await row.innerText())) return
    await page.keyboard.press('ArrowDown')
    await page.waitForTimeout(50)
  }
  throw new Error('the keys do not lead to it')
}

export async function open (file) {
  await quick('Control+p')
  await page.keyboard.type(file)
  await page.waitForSelector(`.quick-input-list .monaco-list-row.focused:has-text("${file}")`) // the list may still be of what was open
  await page.keyboard.press('Enter')
  await page.waitForSelector(`.tab.active:has-text("${file}")`)
}

/** write types a message into the Chat view. */
export async function write (text) {
  await command('Chat: Open Chat')
  await page.waitForSelector('.interactive-input-part .monaco-editor.focused')
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
  await page.waitForTimeout(500) // the list of participants follows the typing
  await page.keyboard.press('Escape')
}

/** say types a message into the Chat view and sends it. */
export async function say (text) {
  await write(text)
  await page.keyboard.press('Enter')
}

/** firstText sends what is typed and returns the ms from Enter to the first text of an answer that holds a word. */
export async function firstText (frame, selector, word) {
  await frame.evaluate(([selector, word]) => {
    window.firstText = new Promise((resolve) => {
      let at
      document.addEventListener('keydown', (e) => { if (e.key === 'Enter') at ??= performance.now() }, { capture: true })
      const seen = new MutationObserver(() => {
        if (at && [...document.querySelectorAll(selector)].some((n) => n.textContent.includes(word))) {
          seen.disconnect()
          resolve(Math.round(performance.now() - at))
        }
      })
      seen.observe(document.body, { subtree: true, childList: true, characterData: true })
    })
  }, [selector, word])
  await page.keyboard.press('Enter')
  return frame.evaluate(() => window.firstText)
}

/** find puts the cursor behind the first place of some text. */
export async function find (text) {
  await page.keyboard.press('Control+f')
  await page.waitForSelector('.find-widget.visible textarea')
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  await page.keyboard.press('ArrowRight')
}

export const answer = (text) => page.locator('.interactive-response', { hasText: text }).last()
export const toast = (text) => page.locator(`.notification-toast:has-text("${text}")`).first()
export const row = (text) => page.locator(`.quick-input-list .monaco-list-row:has-text("${text}")`).first()
export const status = (text) => page.waitForSelector(`.statusbar-item:has-text("${text}")`)
export const idle = () => page.waitForSelector('.statusbar-item:has-text("Agents") .codicon-hubot')
export const inView = (text) => page.locator(`.part.sidebar .pane-body .monaco-list-row:has-text("${text}")`)
export const frame = () => page.frameLocator('iframe.webview.ready').last().frameLocator('#active-frame')

/** asked waits for a question in the chat, which no message repeats and whose input nothing covers. */
export async function asked (text) {
  await answer(`Waiting for you: ${text}`).locator('.monaco-button:has-text("Allow Once")').last().waitFor()
  await status('waiting for you')
  if (await toast('wants to run').count() > 0) throw new Error('a message covers the input of the chat')
  const covered = await page.evaluate(() => {
    const input = document.querySelector('.interactive-input-part .monaco-editor')
    const { left, top, width, height } = input.getBoundingClientRect()
    const above = document.elementFromPoint(left + width / 2, top + height / 2).closest('.notifications-toasts, .notifications-center')
    return above?.outerHTML.slice(0, 200)
  })
  if (covered) throw new Error('the input of the chat is covered: ' + covered)
}

/** toRow gives the keyboard to the first row of the Changes view. */
export async function toRow (text) {
  const row = page.locator(`.part.sidebar .monaco-list:focus .monaco-list-row.focused:has-text("${text}")`).first()
  await inView(text).last().waitFor()
  for (let tries = 0; tries < 6 && !await row.isVisible(); tries++) { // the view may open for it, and be drawn anew
    await command('Agents: Focus on Changes View')
    await page.keyboard.press('Home')
    await row.waitFor({ timeout: 5000 }).catch(() => {})
  }
  await row.waitFor()
}

/** choose takes a row of a list by keys. */
export async function choose (text) {
  await row(text).waitFor()
  await page.keyboard.type(text.slice(0, 24))
  await page.waitForSelector(`.quick-input-list .monaco-list-row.focused:has-text("${text}")`)
  await page.keyboard.press('Enter')
}

/** enter types into the box that asks for a line. */
export async function enter (title, text) {
  await page.waitForSelector(`.quick-input-widget:has-text("${title}") input`)
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** tabTo gives the keyboard to what has a text, by Tab or Shift+Tab alone. */
export async function tabTo (text, key = 'Tab') {
  for (let tries = 0; tries < 60; tries++) {
    if (await page.evaluate((t) => document.activeElement?.textContent?.trim() === t, text)) return
    await page.keyboard.press(key)
  }
  throw new Error('Tab does not lead to ' + text)
}

/** press chooses an answer of the question whose list of messages the extension has opened. */
export async function press (text) {
  await page.waitForSelector(`.notifications-center .monaco-button:has-text("${text}")`)
  await tabTo(text)
  await page.keyboard.press('Enter')
}

/** trust has agentls trust the folder. */
export async function trust () {
  await command('Agents: Trust This Folder')
  await press('Trust this folder')
}

/** settings replaces the settings of the machine, which those of the extension's program are. */
export function settings (values) {
  fs.mkdirSync(`${DIR}/user/Machine`, { recursive: true })
  fs.writeFileSync(`${DIR}/user/Machine/settings.json`, JSON.stringify(values))
}

/** activation is how long an extension took to activate, as VS Code says. */
export async function activation (...names) {
  await command('Developer: Show Running Extensions')
  await page.locator('.extension').first().waitFor()
  const took = []
  for (const name of names) {
    const row = page.locator('.extension', { has: page.locator('.name', { hasText: new RegExp(`^${name}$`) }) }).first()
    await page.keyboard.press('Home')
    for (let tries = 0; await row.count() === 0 && tries < 50; tries++) await page.keyboard.press('ArrowDown') // the list has what is on the screen
    took.push(Number(/(\d+) ?ms/.exec(await row.innerText())[1]))
  }
  await page.keyboard.press('Escape') // closes the list
  await page.locator('.extension').first().waitFor({ state: 'detached' })
  return took
}

/** serverProgram is the file of the server's program. */
export const serverProgram = () => fs.readFileSync(`/proc/${serverPid()}/cmdline`, 'utf8').split('\0')[0]

/** serverPid is the process of the server of this VS Code. */
export function serverPid () {
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const words = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      if (words[0].startsWith(DIR) && words[1] === 'serve') return Number(name)
    } catch {}
  }
}

/** killed ends the server and returns when another one is there. */
export async function killed () {
  const pid = serverPid()
  process.kill(pid, 'SIGKILL')
  for (const end = Date.now() + 120000; ; await page.waitForTimeout(50)) {
    const now = serverPid()
    if (now && now !== pid) return
    if (Date.now() > end) throw new Error('no new server')
  }
}

/** tell plays the steps and says what each saw and how long it took. */
export async function tell (steps) {
  let failed = false
  try {
    for (const [name, play] of Object.entries(steps)) {
      if (process.env.ONLY && !new RegExp(process.env.ONLY).test(name)) continue
      const began = Date.now()
      const saw = await play()
      console.log(JSON.stringify({ step: name, saw: saw ?? '', ms: Date.now() - began }))
      await shot(name.replaceAll(' ', '-'), width === 800 ? 1280 : 800)
    }
  } catch (err) {
    failed = true
    console.error(err)
    await page.screenshot({ path: (SHOTS || '/tmp') + `/${story}-failed.png` }).catch(() => {})
  }
  await browser.close()
  process.exit(failed ? 1 : 0)
}

/* SPDX-License-Identifier: MIT */
/* objc_msgSend() on arm64: all that may hold an argument is kept while the method is looked up. */

    .text
    .globl objc_msgSend
    .type objc_msgSend, %function
objc_msgSend:
    cbz x0, nil
    stp x29, x30, [sp, #-224]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    add x0, sp, #16
    bl mtl_find_method
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    br x16
nil:
    mov x1, #0
    movi v0.2d, #0
    movi v1.2d, #0
    ret
    .size objc_msgSend, . - objc_msgSend

    .section .note.GNU-stack, "", %progbits

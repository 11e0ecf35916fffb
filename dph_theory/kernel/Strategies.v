(* Strategies shared by prompts: what training by expected reward raises and loses (D3). *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws KLControl.
Import ListNotations. Open Scope R_scope.
(* D3: the mean of what is rewarded rises with the gain (Chebyshev). *)
Theorem reward_rises {Y} : forall (ys : list Y) q r g h, ys <> [] -> law ys q -> positive ys q -> g <= h ->
  sum ys (fun y => q y * exp (g * r y) * r y) / sum ys (fun y => q y * exp (g * r y)) <=
  sum ys (fun y => q y * exp (h * r y) * r y) / sum ys (fun y => q y * exp (h * r y)).
Proof.
  intros ys q r g h N [W S] P L. set (a := fun y => q y * exp (g * r y)). set (b := fun y => q y * exp (h * r y)).
  assert (pos : forall k, 0 < sum ys (fun y => q y * exp (k * r y))).
  { intro k. destruct ys as [|y s]; [contradiction|]. simpl. assert (0 < q y * exp (k * r y)) by (apply Rmult_lt_0_compat; [apply P; simpl; auto|apply exp_pos]).
    assert (0 <= sum s (fun y => q y * exp (k * r y))); [|lra]. apply sum_nonneg. intros x J. apply Rmult_le_pos; [apply W; simpl; auto|apply Rlt_le, exp_pos]. }
  assert (A := pos g). assert (B := pos h). fold a in A. fold b in B.
  assert (G : 0 <= sum ys (fun y => sum ys (fun z => (a y * b z - a z * b y) * (r z - r y)))).
  { apply sum_nonneg. intros y I. apply sum_nonneg. intros z J. unfold a, b.
    replace (q y * exp (g * r y) * (q z * exp (h * r z)) - q z * exp (g * r z) * (q y * exp (h * r y)))
      with (q y * q z * exp (g * r y + g * r z) * (exp ((h - g) * r z) - exp ((h - g) * r y))).
    - rewrite Rmult_assoc. apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rmult_le_pos; apply W; auto|apply Rlt_le, exp_pos]|].
      assert (M : forall x y, x <= y -> exp x <= exp y) by (intros x x' [H|H]; [left; apply exp_increasing, H|rewrite H; right; reflexivity]).
      destruct (Rle_or_lt (r y) (r z)) as [H|H].
      + apply Rmult_le_pos; [|lra]. assert (U := M ((h - g) * r y) ((h - g) * r z) ltac:(nra)). lra.
      + rewrite <- Rmult_opp_opp. apply Rmult_le_pos; [|lra]. assert (U := M ((h - g) * r z) ((h - g) * r y) ltac:(nra)). lra.
    - rewrite exp_plus. replace (h * r z) with (g * r z + (h - g) * r z) by ring. replace (h * r y) with (g * r y + (h - g) * r y) by ring.
      rewrite !exp_plus. ring. }
  assert (E : sum ys (fun y => sum ys (fun z => (a y * b z - a z * b y) * (r z - r y))) =
    2 * (sum ys a * sum ys (fun y => b y * r y) - sum ys b * sum ys (fun y => a y * r y))).
  { rewrite (sum_ext ys _ (fun y => (sum ys (fun z => b z * r z) * a y - sum ys b * (a y * r y)) - (sum ys (fun z => a z * r z) * b y - sum ys a * (b y * r y)))).
    - rewrite !sum_minus, !sum_scale. ring.
    - intros y _. rewrite (sum_ext ys _ (fun z => (a y * (b z * r z) - a y * r y * b z) - (b y * (a z * r z) - b y * r y * a z))) by (intros; ring).
      rewrite !sum_minus, !sum_scale. ring. }
  change (sum ys (fun y => a y * r y) / sum ys a <= sum ys (fun y => b y * r y) / sum ys b).
  apply Rmult_le_reg_r with (sum ys a * sum ys b); [apply Rmult_lt_0_compat; auto|].
  replace (sum ys (fun y => a y * r y) / sum ys a * (sum ys a * sum ys b)) with (sum ys b * sum ys (fun y => a y * r y)) by (field; lra).
  replace (sum ys (fun y => b y * r y) / sum ys b * (sum ys a * sum ys b)) with (sum ys a * sum ys (fun y => b y * r y)) by (field; lra). lra.
Qed.
